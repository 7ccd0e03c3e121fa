# reference.awk - the reference of the interface, of what the public headers say: a page for each header, and one that
# leads to all names.
#     awk -v directory=DIRECTORY -v sources="README.md docs/protocol.md ..." -f ../../cmake/headers.awk \
#         -f slug.awk -f names.awk -f reference.awk include/whorl/whorl.h include/whorl/message.h ...
# Leaves in DIRECTORY what is read of the pages, HEADER.html and index.html, which site.sh puts a frame around, and
# `names` for names.awk. `sources` have pages too, which comments may name.
#
# What stands under one comment is one entry. It has the declarations and the whole comment; of a struct or an enum each
# member is beside its own comment. An entry's anchor is its name; where a struct has the name of a function it is
# struct-NAME.

# ---- what the headers say -----------------------------------------------------------------------------------------

function begin_section(title, text)
{
	section_header[++sections] = header
	section_title[sections] = toupper(substr(title, 1, 1)) substr(title, 2)
	section_text[sections] = text
	items[sections] = 0
}

function on_header()
{
	free_text()
	header_name[++headers] = header
	begin_section("", "")
}

function on_top(text) { overview[header] = text }

function on_part(title, text)
{
	free_text()
	begin_section(title, text)
}

# A comment that nothing has taken is text between the entries.
function free_text()
{
	if (waiting != "")
		item_text[sections, ++items[sections]] = waiting
	waiting = ""
}

function on_comment()
{
	free_text()
	waiting = comment
}

function on_blank()
{
	free_text()
	on_break()
}

function on_break() { open_kind = "" }

# What stands below another of its kind, and under the same comment, is in the same entry.
function join_entry(kind)
{
	if (open_kind != kind) {
		item_entry[sections, ++items[sections]] = ++entries
		entry_kind[entries] = kind
		entry_text[entries] = comment
		entry_header[entries] = header
		entry_section[entries] = sections
		waiting = ""
	}
	open_kind = kind
}

function add(name, declaration, own)
{
	entry_name[entries, ++size[entries]] = name
	entry_declaration[entries, size[entries]] = declaration
	entry_own[entries, size[entries]] = own
}

function place(name, anchor, kind)
{
	places[name] = "include/" header ".html#" anchor
	if (kind != "")
		kind_names[kind] = kind_names[kind] name "\n"
}

function on_function(name, prototype, own)
{
	join_entry("function")
	add(name, prototype, own)
	place(name, name, "function")
	is_function[name] = 1
}

function on_inline(name, prototype) { on_function(name, prototype, "") }

function on_macro(name, text, own)
{
	if (name in defined || name ~ /_H$/) # the second of #else, and what guards a header
		return
	defined[name] = 1
	if (index(text, "\n\tX(") > 0) {
		list_of[name] = text
		sub(/\n.*/, "", text)
		text = text " ..."
	} else
		gsub(/\n[ \t]*/, " ", text)
	join_entry("macro")
	add(name, text, own)
	place(name, name, "macro")
}

function on_type(text,    name, at, own)
{
	if (text ~ /^struct [a-z_]+;/) # it stands elsewhere
		return
	if (match(text, /^typedef struct [a-z_]+ /)) {
		name = substr(text, RSTART + 15, RLENGTH - 16)
		if (("struct " name) in places && text ~ ("^typedef struct " name " " name ";")) # the same without "struct"
			return
	}
	join_entry("type")
	open_kind = ""
	if (text ~ /^typedef/) {
		if (match(text, /; *\/\*/)) {
			own = substr(text, RSTART + 1)
			text = substr(text, 1, RSTART)
			sub(/^ */, "", own)
			own = without_frame(own)
		}
		gsub(/\n[ \t]+/, " ", text)
		name = text
		match(name, /whorl_[a-z_]+(\(|;$)/)
		name = substr(name, RSTART, RLENGTH - 1)
		add(name, text, own)
		place(name, name, "type")
		return
	}
	at = index(text, "{")
	name = substr(text, 1, at - 1)
	sub(/ *$/, "", name)
	entry_body[entries] = substr(text, at + 1)
	if (match(entry_body[entries], /};.*$/)) {
		own = substr(entry_body[entries], RSTART + 2)
		entry_body[entries] = substr(entry_body[entries], 1, RSTART - 1)
		sub(/^ */, "", own)
		own = without_frame(own)
	}
	entry_enum[entries] = name ~ /^enum/
	add(name, "", own)
	read_members(entries)
	if (name == "enum")
		return
	tag = name
	sub(/^[a-z]+ /, "", tag)
	place(name, tag, "type")
}

# ---- the members of a struct or an enum ---------------------------------------------------------------------------

# A comment among members, as a line.
function of_lines(text)
{
	sub(/^\/\*/, "", text)
	sub(/\*\/$/, "", text)
	gsub(/\n[ \t]*\*?[ \t]*/, " ", text)
	gsub(/^ +| +$/, "", text)
	return text
}

# The rows X(NAME, VALUE, "TEXT") of a list, as an enum has them by `made`: "#define ROW(name, value, text) BEFORE_##name##_AFTER = (value),"
function as_enumerators(list, made,    lines, count, i, out, name, value, text, before, after, parameter)
{
	parameter = made
	sub(/^[^,]*, */, "", parameter)
	sub(/,.*/, "", parameter)
	sub(/^[^)]*\) */, "", made)
	before = after = made
	sub(/##.*/, "", before)
	sub(/^[A-Z_]*##name(##)?/, "", after)
	sub(/,$/, "", after)
	count = split(list, lines, "\n")
	for (i = 2; i <= count; i++) {
		text = lines[i]
		if (text !~ /^\tX\([A-Z_]+, -?[0-9]+, ".*"\)$/) {
			out = out "\n\n" text "\n"
			continue
		}
		name = value = text
		sub(/^\tX\(/, "", name)
		sub(/,.*/, "", name)
		sub(/^[^,]*, /, "", value)
		sub(/,.*/, "", value)
		sub(/^[^"]*"/, "", text)
		sub(/"\)$/, "", text)
		made = after
		sub("[(]" parameter "[)]", value, made)
		out = out "\t" before name made ", /* " text " */\n"
	}
	return out
}

# A comment in the line of a member is that member's; one above it is the next one's, or, after an empty line, of all
# that follow.
function read_members(e,    rest, gap, text, n, at, row)
{
	rest = entry_body[e]
	while (1) {
		match(rest, /^[ \t\n]*/)
		gap = substr(rest, 1, RLENGTH)
		rest = substr(rest, RLENGTH + 1)
		if (rest == "")
			break
		if (rest ~ /^#/) {
			if (rest ~ /^#define/)
				row = substr(rest, 1, index(rest, "\n") - 1)
			sub(/^[^\n]*/, "", rest)
		} else if (rest ~ /^\/\*/) {
			at = index(rest, "*/") + 1
			text = of_lines(substr(rest, 1, at))
			rest = substr(rest, at + 1)
			if (gap ~ /\n[ \t]*\n/)
				member_group[e, n + 1] = text
			else if (gap ~ /\n/)
				member_above[e, n + 1] = text
			else if (n == 0)
				entry_opening[e] = text
			else
				member_beside[e, n] = text
		} else if (match(rest, /^[A-Z_]+\(/)) {
			text = substr(rest, 1, RLENGTH - 1)
			sub(/^[^)]*\)/, "", rest)
			rest = as_enumerators(list_of[text], row) rest
		} else {
			match(rest, entry_enum[e] ? "^[^,/]*,?" : "^[^;]*;")
			text = substr(rest, 1, RLENGTH)
			rest = substr(rest, RLENGTH + 1)
			gsub(/[,;]?[ \t\n]*$/, "", text)
			gsub(/[ \t\n]+/, " ", text)
			gsub(/\* /, "*", text)
			member[e, ++n] = text
			if (entry_enum[e]) {
				sub(/ .*/, "", text)
				place(text, text, "constant")
			}
		}
	}
	members[e] = n
}

# ---- as it is read ------------------------------------------------------------------------------------------------

function say(file, text) { print text > (directory "/" file) }

function inline(text,    pieces, count, i, out, piece)
{
	count = split(escaped(text), pieces, "`")
	for (i = 1; i <= count; i++) {
		piece = pieces[i]
		if (i % 2 == 0 && i < count)
			piece = "<code>" piece "</code>"
		else {
			if (i % 2 == 0) # it stands alone
				out = out "`"
			while (match(piece, /\*[a-z]+( [a-z]+)*\*/)) {
				out = out substr(piece, 1, RSTART - 1)
				out = out "<em>" substr(piece, RSTART + 1, RLENGTH - 2) "</em>"
				piece = substr(piece, RSTART + RLENGTH)
			}
		}
		out = out piece
	}
	return linked(out)
}

# What a paragraph at the top of a header begins with, in capitals, can be led to: "whorl.h, STRUCTS".
function leading_word(text) { return match(text, /^[A-Z][A-Z]+( [A-Z][A-Z]+)*/) ? substr(text, 1, RLENGTH) : "" }

function about(word)
{
	word = tolower(word)
	gsub(/ /, "-", word)
	return "about-" word
}

function paragraph(text, at_top,    word)
{
	word = at_top ? leading_word(text) : ""
	if (word == "")
		return "<p>" inline(text) "</p>\n"
	return "<p id=\"" about(word) "\"><strong>" word "</strong>" inline(substr(text, length(word) + 1)) "</p>\n"
}

# The text of a comment. What is indented is code. A line that ends with a sentence ends a paragraph: comments have a
# new line there for what is new, results above all.
function text_of(text, at_top,    lines, count, i, out, held, code)
{
	count = split(text, lines, "\n")
	for (i = 1; i <= count + 1; i++) {
		if (held != "" && (i > count || lines[i] ~ /^ *$/ || (lines[i] ~ /^    /) != code ||
		    (!code && held ~ /[^.]\.[)"]?$/))) {
			if (code)
				out = out "<pre><code>" linked(escaped(held)) "</code></pre>\n"
			else
				out = out paragraph(held, at_top)
			held = ""
		}
		if (i > count || lines[i] ~ /^ *$/)
			continue
		code = lines[i] ~ /^    /
		held = held (held == "" ? "" : "\n") (code ? substr(lines[i], 5) : lines[i])
	}
	return out
}

function heading(level, html, anchor)
{
	return "<h" level (anchor == "" ? "" : " id=\"" anchor "\"") ">" html "</h" level ">"
}

function here(anchor) { return " <a class=\"here\" href=\"#" anchor "\" title=\"A link to here\">#</a>" }
function anchor_of(name) { name = places[name]; sub(/.*#/, "", name); return name }

function declared(text) { return "<pre class=\"declaration\"><code>" linked(escaped(text)) "</code></pre>\n" }

function row(what, text)
{
	if (text == "")
		return "<dt class=\"alone\">" what "</dt>\n"
	return "<dt>" what "</dt>\n<dd>" text "</dd>\n"
}

function members_of(e,    i, name, text, note, out, listed)
{
	for (i = 1; i <= members[e]; i++) {
		if ((e, i) in member_group) {
			out = out (listed ? "</dl>\n" : "") "<p>" inline(member_group[e, i]) "</p>\n"
			listed = 0
		}
		if (!listed++)
			out = out "<dl class=\"members\">\n"
		name = text = member[e, i]
		if (entry_enum[e]) {
			sub(/ .*/, "", name)
			text = escaped(substr(text, length(name) + 1))
			text = "<a id=\"" name "\" href=\"#" name "\">" name "</a>" text
		} else
			text = linked(escaped(text))
		note = ""
		if ((e, i) in member_above)
			note = "<p>" inline(member_above[e, i]) "</p>"
		if ((e, i) in member_beside)
			note = note "<p>" inline(member_beside[e, i]) "</p>"
		out = out row("<code>" text "</code>", note)
	}
	return out "</dl>\n"
}

# The first and the last constant of an enum that has no name.
function without_value(enumerator) { sub(/ .*/, "", enumerator); return enumerator }

function title_of_enum(e,    first, last)
{
	first = without_value(member[e, 1])
	last = without_value(member[e, members[e]])
	return "enum { " first (last != first ? " ... " last : "") " }"
}

function titles_of(e,    i, name, anchor, out)
{
	for (i = 1; i <= size[e]; i++) {
		name = entry_name[e, i]
		out = out (i > 1 ? ", " : "")
		if (name == "enum")
			out = out "<code>" title_of_enum(e) "</code>"
		else
			out = out "<code id=\"" anchor_of(name) "\">" name "</code>"
	}
	return out
}

function first_name(e) { return entry_name[e, 1] == "enum" ? without_value(member[e, 1]) : entry_name[e, 1] }

function kind_of(e)
{
	if (entry_kind[e] == "type" && entry_name[e, 1] ~ / |^enum$/)
		return ""
	return " <span class=\"kind\">" entry_kind[e] (size[e] > 1 ? "s" : "") "</span>"
}

function entry(e, level,    i, out, name)
{
	for (i = 1; i <= size[e]; i++) {
		name = entry_name[e, i]
		unlinked[name] = 1
		if (places[bare_name(name)] == places[name])
			unlinked[bare_name(name)] = 1
	}
	out = "<section class=\"entry\">\n"
	out = out heading(level, titles_of(e) kind_of(e) here(anchor_of(first_name(e)))) "\n"
	for (i = 1; i <= size[e]; i++) {
		if (entry_declaration[e, i] != "")
			out = out declared(entry_declaration[e, i])
		if (entry_own[e, i] != "")
			out = out text_of(entry_own[e, i])
	}
	out = out text_of(entry_text[e])
	if (entry_opening[e] != "")
		out = out text_of(entry_opening[e])
	if (members[e] > 0)
		out = out members_of(e)
	for (name in unlinked)
		delete unlinked[name]
	return out "</section>\n"
}

function link_to(name, text) { return "<a href=\"" way(page, places[name]) "\"><code>" text "</code></a>" }

function link_of(e, i)
{
	if (entry_name[e, i] == "enum")
		return link_to(first_name(e), title_of_enum(e))
	return link_to(entry_name[e, i], entry_name[e, i])
}

# The names of a section, as links.
function names_of(s,    k, e, i, out)
{
	for (k = 1; k <= items[s]; k++) {
		if (!((s, k) in item_entry))
			continue
		e = item_entry[s, k]
		for (i = 1; i <= size[e]; i++)
			out = out (out == "" ? "" : ", ") link_of(e, i)
	}
	return out
}

# What a comment begins with, for a list: a sentence, or less of one that is long; nothing if it begins with results.
function summary(text)
{
	gsub(/\n/, " ", text)
	if (text ~ /^WHORL_[A-Z_]+[,;:]/)
		return ""
	if (match(text, /[^ .]\.( |$)/))
		text = substr(text, 1, RSTART)
	if (length(text) > 130 && match(text, /[:;] /))
		text = substr(text, 1, RSTART - 1)
	return text == "" ? "" : "<p>" inline(text) "</p>"
}

# The rows of an entry in a list: one, or, where each name has a comment of its own, one for each.
function rows_of(e,    i, names, out)
{
	for (i = 1; i <= size[e]; i++) {
		names = names (names == "" ? "" : ", ") link_of(e, i)
		if (entry_text[e] == "") {
			out = out row(names, summary(entry_own[e, i] entry_opening[e]))
			names = ""
		}
	}
	return out (names == "" ? "" : row(names, summary(entry_text[e])))
}

function write_header(h,    file, s, k, text, level, has_parts, slugs)
{
	header = header_name[h]
	file = header
	sub(/.*\//, "", file)
	file = file ".html"
	page = "include/" header ".html"
	in_link = 0
	text = overview[header]
	match(text, /^[^\n]*( - [^\n]*(\n[^\n]+)*)?/)
	k = substr(text, 1, RLENGTH)
	text = substr(text, RLENGTH + 1)
	sub(/^[^ ]* - /, "", k)
	say(file, "<h1><code>&lt;" header "&gt;</code></h1>")
	say(file, "<p>" inline(toupper(substr(k, 1, 1)) substr(k, 2)) "</p>")
	for (s = 1; s <= sections; s++)
		if (section_header[s] == header && section_title[s] != "") {
			section_anchor[s] = slug(section_title[s], slugs)
			has_parts = 1
		}
	say(file, "<ul class=\"contents\">")
	for (s = 1; s <= sections; s++) {
		if (section_header[s] != header || items[s] == 0)
			continue
		k = ""
		if (section_title[s] != "")
			k = "<a href=\"#" section_anchor[s] "\">" inline(section_title[s]) "</a>: "
		say(file, "<li>" k names_of(s) "</li>")
	}
	say(file, "<li><a href=\"../whorl.html#all-names\">All names</a></li>\n</ul>")
	say(file, text_of(text, 1))
	level = has_parts ? 3 : 2
	for (s = 1; s <= sections; s++) {
		if (section_header[s] != header)
			continue
		if (section_title[s] != "")
			say(file, heading(2, inline(section_title[s]) here(section_anchor[s]), section_anchor[s]))
		say(file, text_of(section_text[s]))
		for (k = 1; k <= items[s]; k++)
			say(file, (s, k) in item_entry ? entry(item_entry[s, k], level) : text_of(item_text[s, k]))
	}
	close(directory "/" file)
}

function say_names(file, title, kind,    list, count, i, j, held)
{
	count = split(kind_names[kind], list, "\n") - 1
	for (i = 2; i <= count; i++) {
		held = list[i]
		for (j = i - 1; j >= 1 && bare_name(list[j]) > bare_name(held); j--)
			list[j + 1] = list[j]
		list[j + 1] = held
	}
	say(file, heading(3, title) "\n<ul class=\"names\">")
	for (i = 1; i <= count; i++)
		say(file, "<li>" link_to(list[i], list[i]) "</li>")
	say(file, "</ul>")
}

function bare_name(name)
{
	sub(/^.* /, "", name)
	return name
}

function write_index(    h, s, k, way_there)
{
	page = "include/whorl.html"
	in_link = 0
	say("index.html", "<h1>Reference</h1>\n<p>Every function, type, constant and macro of the public headers,")
	say("index.html", "with all that the headers say.</p>")
	for (h = 1; h <= headers; h++) {
		way_there = way(page, places[header_name[h]])
		say("index.html", heading(2, "<a href=\"" way_there "\"><code>&lt;" header_name[h] "&gt;</code></a>"))
		for (s = 1; s <= sections; s++) {
			if (section_header[s] != header_name[h] || items[s] == 0)
				continue
			if (section_title[s] != "")
				say("index.html", heading(3, "<a href=\"" way_there "#" section_anchor[s] "\">" \
					section_title[s] "</a>"))
			say("index.html", "<dl class=\"members\">")
			for (k = 1; k <= items[s]; k++)
				if ((s, k) in item_entry)
					say("index.html", rows_of(item_entry[s, k]))
			say("index.html", "</dl>")
		}
	}
	say("index.html", heading(2, "All names" here("all-names"), "all-names"))
	say_names("index.html", "Functions", "function")
	say_names("index.html", "Types", "type")
	say_names("index.html", "Constants", "constant")
	say_names("index.html", "Macros", "macro")
}

END {
	free_text()
	for (name in places) # a struct is found by its bare name, unless a function has that
		if (name ~ / /) {
			tag = bare_name(name)
			if (tag in is_function)
				sub(/#/, "#struct-", places[name])
			else
				tags[tag] = places[name]
		}
	for (tag in tags)
		places[tag] = tags[tag]
	for (h = 1; h <= headers; h++)
		places[header_name[h]] = "include/" header_name[h] ".html"
	for (name in places)
		say("names", name "\t" places[name])
	close(directory "/names")
	for (h = 1; h <= headers; h++) { # what only a comment calls so
		name = header_name[h]
		sub(/.*\//, "", name)
		places[name] = places[header_name[h]]
		count = split(overview[header_name[h]], list, "\n")
		for (i = 2; i <= count; i++)
			if (list[i - 1] ~ /^ *$/ && (word = leading_word(list[i])) != "")
				places[name ", " word] = places[name] "#" about(word)
	}
	count = split(sources, list, " ")
	for (i = 1; i <= count; i++) {
		name = list[i]
		if (name ~ /\.md$/) {
			sub(/\.md$/, "", name)
			places[list[i]] = name ".html"
			if (match(name, /^docs\/decisions\/[0-9]+/))
				places[substr(name, 1, RLENGTH)] = name ".html"
		} else
			places[name] = name ".html"
	}
	for (h = 1; h <= headers; h++)
		write_header(h)
	write_index()
}
