# whorl.bash - completion of the command `whorl` for bash. Commands, options and keys are what the command itself says of them.

_whorl_words() { COMPREPLY+=($(compgen -W "$1" -- "$2")); }

_whorl_files() { # ENDING WORD
	compopt -o filenames 2>/dev/null
	COMPREPLY+=($(compgen -f -X "!*.$1" -- "$2") $(compgen -d -- "$2"))
}

_whorl_commands() { "$1" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p'; }

# section.key= of every key.
_whorl_keys() {
	"$1" config --sample 2>/dev/null |
		awk '/^\[/ { section = substr($1, 2); sub(/\]$/, "", section); next } / = / { print section "." $1 "=" }'
}

# Groups of this user's on this host: nodes on shared memory have sockets that are named @whorl/USER/GROUP/NODE.
_whorl_groups() {
	awk -v user="$(id -u)" '{ n = split($8, part, "/") } n == 4 && part[1] == "@whorl" && part[2] == user { print part[3] }' \
		/proc/net/unix 2>/dev/null | sort -u
}

_whorl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		_whorl_words "$(_whorl_commands "$1") help --help --version" "$word"
		return
	fi
	case $before in
	-s | --set)
		_whorl_words "$(_whorl_keys "$1")" "$word"
		compopt -o nospace 2>/dev/null
		return
		;;
	--json | --csv | --plot | -o | --output | -c | --check) COMPREPLY=($(compgen -f -- "$word")) && return ;;
	esac
	case $word in
	-*) _whorl_words "$("$1" "$command" --help 2>/dev/null | grep -oE -- '(^| )--[a-z-]+' | tr -d ' ' | sort -u)" "$word" ;;
	*)
		case $command in
		status) _whorl_words "$(_whorl_groups)" "$word"; _whorl_files ini "$word" ;;
		help) [ "$COMP_CWORD" -gt 2 ] || _whorl_words "$(_whorl_commands "$1")" "$word" ;;
		log | report) COMPREPLY=($(compgen -d -- "$word")) ;;
		*) _whorl_files ini "$word" ;;
		esac
		;;
	esac
}

complete -F _whorl whorl
