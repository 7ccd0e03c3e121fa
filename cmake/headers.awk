# headers.awk - what the public headers say, in their order. man-api.awk and docs/site/reference.awk stand behind it, and
# do something with each thing that it finds:
#     awk -f headers.awk -f man-api.awk include/whorl/result.h include/whorl/message.h include/whorl/whorl.h ...
#     on_header()                        a header begins, `header`: whorl/whorl.h
#     on_top(text)                       the comment at its top
#     on_part(title, text)               "---- title ----", and what else is in that comment
#     on_comment()                       a comment, `comment`: it is of what comes next, up to an empty line
#     on_function(name, prototype, own)  `own`: the comment behind it
#     on_inline(name, prototype)         a function whose body is there
#     on_type(text)                      an enum, a struct or a typedef, whole
#     on_macro(name, text, own)          a #define
#     on_break()                         what comes now does not stand together with what came
#     on_blank()                         an empty line; `comment` is what stands alone then, and is forgotten

# A comment, without its frame.
function bare(text) {
	sub(/^\/\* ?/, "", text)
	sub(/ *\*\/$/, "", text)
	gsub(/\n \*$/, "\n", text)
	gsub(/\n \*\n/, "\n\n", text)
	gsub(/\n \*\n/, "\n\n", text)
	gsub(/\n \* /, "\n", text)
	return text
}

# Of "/* it is so */" what is read.
function without_frame(text) {
	text = bare(text)
	sub(/^ */, "", text)
	sub(/^\/\* */, "", text)
	return text
}

function whole_declaration(   name, own) {
	if (declaration !~ /^WHORL_API/) {
		on_type(declaration)
		return
	}
	if (match(declaration, /; *\/\*.*\*\//)) {
		own = without_frame(substr(declaration, RSTART + 1))
		declaration = substr(declaration, 1, RSTART)
	}
	gsub(/WHORL_API /, "", declaration)
	gsub(/\n[ \t]*/, " ", declaration)
	match(declaration, /whorl_[a-z_]+\(/)
	name = substr(declaration, RSTART, RLENGTH - 1)
	on_function(name, declaration, own)
}

function whole_macro(   name, own) {
	if (match(macro, /[ \t]*\/\*[^\n]*\*\/$/)) {
		own = substr(macro, RSTART)
		macro = substr(macro, 1, RSTART - 1)
		sub(/^[ \t]*/, "", own)
		own = without_frame(own)
	}
	match(macro, /^#define [A-Za-z_0-9]+/)
	name = substr(macro, 9, RLENGTH - 8)
	on_macro(name, macro, own)
}

FNR == 1 {
	header = FILENAME
	sub(/.*include\//, "", header)
	comment = ""
	top = 1
	on_break()
	on_header()
}

/^\/\*/ && !inside {
	on_break()
	inside = 1
	held = ""
}

inside {
	held = held (held == "" ? "" : "\n") $0
	if ($0 ~ /\*\/ *$/) {
		inside = 0
		comment = bare(held)
		if (top) {
			top = 0
			on_top(comment)
			comment = ""
		} else if (held ~ /^\/\* ----/) {
			sub(/^-+ */, "", comment)
			title = comment
			sub(/ *-+ *(\n.*)?$/, "", title)
			sub(/^[^\n]*\n?/, "", comment)
			on_part(title, comment)
			comment = ""
		} else
			on_comment()
	}
	next
}

collecting {
	declaration = declaration "\n" $0
	if (braces ? $0 ~ /^};/ : $0 ~ /; *(\/\*.*\*\/ *)?$/) {
		collecting = 0
		whole_declaration()
	}
	next
}

/^(WHORL_API|typedef|struct|enum)[ \t]/ {
	declaration = $0
	braces = $0 ~ /^(struct|enum).*[{]/
	if ($0 !~ /^WHORL_API/)
		on_break()
	if (braces ? $0 !~ /};/ : $0 !~ /; *(\/\*.*\*\/ *)?$/)
		collecting = 1
	else
		whole_declaration()
	next
}

/^static inline .*\)$/ {
	declaration = $0 ";"
	sub(/^static inline /, "", declaration)
	match(declaration, /whorl_[a-z_]+\(/)
	on_inline(substr(declaration, RSTART, RLENGTH - 1), declaration)
}

/^#define/ {
	macro = ""
	defining = 1
}

defining {
	defining = sub(/[ \t]*\\$/, "")
	macro = macro (macro == "" ? "" : "\n") $0
	if (!defining)
		whole_macro()
	next
}

/^ *$/ {
	on_blank()
	comment = ""
}
