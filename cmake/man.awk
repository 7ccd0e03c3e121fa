# man.awk - a manual page from what `whorl COMMAND --help` says (argp's form): the page cannot say anything else than the command.
#     whorl bench --help | awk -v name=whorl-bench -v version=0.1.0 -v call="whorl bench" -f man.awk
# and rmargin=200 in ARGP_HELP_FMT, so that no word is cut. Lines before the options tell what it does, options begin with blanks and a dash, the rest is told behind them.

function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	return text ~ /^[.']/ ? "\\&" text : text
}

# "  -q, --quiet   No progress line": the option, and where its words begin.
function option(line,   text, at) {
	text = line
	sub(/^ +/, "", text)
	at = match(text, /   +/)
	if (length(line) - length(text) + (at ? at : length(text)) > 29)
		at = match(text, /   /)
	printf ".TP\n.B %s\n", roff(at ? substr(text, 1, at - 1) : text)
	if (at) {
		text = substr(text, at)
		sub(/^ +/, "", text)
		print roff(text)
	}
}

BEGIN { part = "usage" }

part == "usage" && /^Usage: / {
	sub(/^Usage: [^ ]+/, "")
	sub("^ " substr(call, index(call, " ") + 1) "( |$)", " ") # the command, which `call` has
	sub(/^ +/, "")
	usage = $0
	next
}

part == "usage" {
	printf ".TH %s 1 \"\" \"whorl %s\" \"whorl\"\n", toupper(name), version
	held = $0
	part = "what"
	next
}

# The rest of the first sentence.
part == "what" {
	if ($0 == "") {
		sentence = held
		sub(/[.:].*/, "", sentence)
		sentence = tolower(substr(sentence, 1, 1)) substr(sentence, 2)
		printf ".SH NAME\n%s \\- %s\n", roff(name), roff(sentence)
		printf ".SH SYNOPSIS\n.B %s\n%s\n", roff(call), roff(usage)
		printf ".SH DESCRIPTION\n%s\n.SH OPTIONS\n", roff(held)
		part = "options"
		next
	}
	held = held " " $0
	next
}

part == "options" && /^ +-/ { option($0); next }
part == "options" && /^ +[^ -]/ { sub(/^ +/, ""); print roff($0); next }
part == "options" && /^Mandatory or optional arguments/ { skip = 1; next }
part == "options" && skip { skip = 0; next } # its second line
part == "options" && $0 == "" { next }
part == "options" { part = "rest"; if (!/^Commands:/) print ".SH NOTES" }

part == "rest" && /^Exit status: / { print ".SH EXIT STATUS"; sub(/^Exit status: /, "") }
part == "rest" && /^Commands:/ { print ".SH COMMANDS\n.nf"; commands = 1; next }
part == "rest" && $0 == "" { if (commands) { print ".fi"; commands = 0 } print ".PP"; next }
part == "rest" { print roff($0) }

END {
	printf ".SH SEE ALSO\n"
	print name == "whorl" ? ".BR whorl\\-bench (1),\n.BR whorl\\-config (1),\n.BR whorl\\-dds (1),\n.BR whorl\\-node (1),\n.BR whorl\\-report (1),\n" \
				".BR whorl\\-sim (1),\n.BR whorl\\-status (1),\n.BR whorl.ini (5),\n.BR whorl (3)" : ".BR whorl (1),\n.BR whorl.ini (5)"
}
