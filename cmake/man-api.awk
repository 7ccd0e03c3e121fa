# man-api.awk - manual pages of the interface, section 3, from the headers, which are the manual: the pages cannot say anything else.
#     awk -v version=0.1.0 -v directory=man -f headers.awk -f man-api.awk include/whorl/result.h include/whorl/message.h ...
# Each function has a page, those under one comment one together; whorl.3 is what stands at the top of whorl.h. A page has the
# prototypes, the comment, the types that these name, and what stands at the beginning of their part of the header.
# -v library=whorl_dds: of the headers of another library; its overview, whorl_dds.3, is what stands at the top of the first of them.

BEGIN {
	if (library == "")
		library = "whorl"
}

function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/§/, "\\(sc", text)
	gsub(/'/, "\\(aq", text)
	return text ~ /^\./ ? "\\\\&" text : text
}

function say(file, text) { print text > (directory "/" file) }

# Text of a comment: what is indented stays as it is, an empty line begins a paragraph.
function say_text(file, text,   lines, count, i, code) {
	count = split(text, lines, "\n")
	for (i = 1; i <= count; i++) {
		if ((lines[i] ~ /^    /) != code) {
			code = !code
			say(file, code ? ".nf" : ".fi")
		}
		if (lines[i] ~ /^ *$/)
			say(file, i < count ? ".PP" : ".\\\"")
		else
			say(file, roff(lines[i]))
	}
	if (code)
		say(file, ".fi")
}

function say_code(file, text,   lines, count, i) {
	say(file, ".nf")
	count = split(text, lines, "\n")
	for (i = 1; i <= count; i++)
		say(file, roff(lines[i] == "" ? "\\&" : lines[i]))
	say(file, ".fi")
}

function first_sentence(text) {
	gsub(/\n/, " ", text)
	sub(/ *\. .*/, "", text)
	sub(/[.:;] *$/, "", text)
	sub(/: .*/, "", text)
	return tolower(substr(text, 1, 1)) substr(text, 2)
}

function end_of_group(   i) {
	if (group_size > 0) {
		for (i = 1; i <= group_size; i++)
			page_names[pages, i] = group[i]
		page_size[pages] = group_size
	}
	group_size = 0
}

# A function: it joins those above it that stand under the same comment.
function on_function(name, prototype, own) {
	opens = 0
	gsub(/WHORL_MUST_CHECK /, "", prototype)
	if (group_size == 0) {
		pages++
		page_header[pages] = header
		page_text[pages] = comment
		page_part[pages] = part
		page_title[pages] = part
		sub(/\n.*/, "", page_title[pages])
	}
	if (own != "")
		page_text[pages] = page_text[pages] (page_text[pages] == "" ? "" : "\n\n") name ": " own
	group[++group_size] = name
	page_prototypes[pages] = page_prototypes[pages] prototype "\n"
}

function on_type(text,   name) {
	opens = 0
	name = text
	if (text ~ /^typedef/)
		match(name, /whorl_[a-z_]+_fn/)
	else
		match(name, /whorl_[a-z_]+/)
	if (RSTART == 0)
		return
	name = substr(name, RSTART, RLENGTH)
	if (text ~ /^typedef struct/)
		return
	types++
	type_name[types] = name
	type_text[types] = (comment == "" ? "" : "/* " comment " */\n") text
}

function on_header() { part = "" }

function on_top(text) {
	if (library == "whorl" ? header == "whorl/whorl.h" : overview == "") {
		overview = text
		overview_header = header
	}
}

function on_part(title, text) {
	part = title "\n" text
	opens = 1
}

function on_comment() { }

function on_macro(name, text, own) { opens = 0 }

function on_inline(name, prototype) { opens = 0 }

function on_break() { end_of_group() }

# A comment that stands alone behind that of the part belongs to it.
function on_blank() {
	end_of_group()
	if (opens && comment != "") {
		part = part "\n\n" comment
		opens = 0
	}
}

# Does `text` name it, as a whole word?
function names(text, name) {
	return match(text, "(^|[^a-z_])" name "($|[^a-z_])")
}

function write_page(p,   file, i, t, all, title, lines, seen, grew) {
	all = page_names[p, 1]
	file = all ".3"
	for (i = 2; i <= page_size[p]; i++)
		all = all ", " page_names[p, i]
	say(file, ".TH " toupper(page_names[p, 1]) " 3 \"\" \"whorl " version "\" \"whorl\"")
	title = page_text[p] != "" ? first_sentence(page_text[p]) : \
		library == "whorl" ? "of whorl, atomic multicast" : "of whorl, topics"
	say(file, ".SH NAME\n" roff(all) " \\- " roff(title))
	say(file, ".SH SYNOPSIS\n.nf\n#include <" page_header[p] ">\n")
	gsub(/\n$/, "", page_prototypes[p])
	say(file, roff_lines(page_prototypes[p]) "\n.fi")
	say(file, ".SH DESCRIPTION")
	if (page_text[p] != "")
		say_text(file, page_text[p])
	grew = page_prototypes[p]
	for (t = types; t >= 1; t--) # what a type names stands above it
		if (names(grew, type_name[t]) && type_name[t] != "whorl_result") {
			seen[t] = 1
			grew = grew "\n" type_text[t]
		}
	for (t = 1; t <= types; t++)
		if (t in seen) {
			say(file, (i++ >= 0 && !types_said[p]++ ? ".SH TYPES" : ".PP"))
			say_code(file, type_text[t])
		}
	if (page_part[p] ~ /\n[^\n]/) {
		say(file, ".SH NOTES")
		sub(/^[^\n]*\n/, "", page_part[p])
		say_text(file, page_part[p])
	}
	say(file, ".SH SEE ALSO")
	for (i = 1; i <= pages; i++) # of the same part
		if (i != p && page_title[i] == page_title[p] && page_header[i] == page_header[p])
			say(file, ".BR " roff(page_names[i, 1]) " (3),")
	say(file, (library == "whorl" ? "" : ".BR " roff(library) " (3),\n") ".BR whorl (3),\n.BR whorl.ini (5)")
	close(directory "/" file)
	for (i = 2; i <= page_size[p]; i++) {
		say(page_names[p, i] ".3", ".so man3/" file)
		close(directory "/" page_names[p, i] ".3")
	}
}

function roff_lines(text,   lines, count, i, out) {
	count = split(text, lines, "\n")
	for (i = 1; i <= count; i++)
		out = out (i > 1 ? "\n" : "") roff(lines[i])
	return out
}

# The page of the library: the top of its header, and its functions.
function say_overview(file,   p, i, other) {
	other = library == "whorl" ? "#include <whorl/replica.h>\n#include <whorl/status.h>\n" : ""
	say(file, ".TH " toupper(library) " 3 \"\" \"whorl " version "\" \"whorl\"\n.SH NAME")
	sub(/^[^-]*- /, "", overview)
	say(file, roff(library) " \\- " roff(first_sentence(overview)) "\n.SH SYNOPSIS\n.nf\n#include <" overview_header ">\n" other)
	say(file, "cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs " library ")\n.fi\n.SH DESCRIPTION")
	sub(/^[^\n]*\n+/, "", overview)
	say_text(file, overview)
	say(file, ".SH FUNCTIONS")
	for (p = 1; p <= pages; p++)
		for (i = 1; i <= page_size[p]; i++)
			say(file, ".BR " roff(page_names[p, i]) " (3)" (p < pages || i < page_size[p] ? "," : ""))
	say(file, ".SH SEE ALSO\n.BR whorl (1)," (library == "whorl" ? "" : "\n.BR whorl (3),") "\n.BR whorl.ini (5)")
}

END {
	end_of_group()
	for (p = 1; p <= pages; p++)
		write_page(p)
	say_overview(library ".3")
}
