# names.awk - names of the interface lead to their entries in the reference, wherever they stand:
#     awk -v names=FILE -v page=PAGE -f names.awk ...
# FILE has lines of a name, a tab and PAGE#ANCHOR, as reference.awk writes it; `page` is where the text is that linked()
# gets.

# From page `from` to `place`, each as seen from the top.
function way(from, place,    up)
{
	if (index(place, from "#") == 1)
		return substr(place, length(from) + 1)
	while (match(from, /^[^\/]+\//) && index(place, substr(from, 1, RLENGTH)) == 1) {
		place = substr(place, RLENGTH + 1)
		from = substr(from, RLENGTH + 1)
	}
	up = from
	gsub(/[^\/]+\//, "../", up)
	sub(/[^\/]*$/, "", up)
	return up place
}

# What `name` leads to, if it stands behind `before`; "" nothing. Of a struct and a function of one name, `struct` says
# which; "whorl.h, STRUCTS" is a paragraph of that header.
function place_of(name, before)
{
	sub(/^include\//, "", name)
	if (match(before, /[a-z]+\.h<\/a>, $/) && (substr(before, RSTART, RLENGTH - 6) ", " name) in places)
		name = substr(before, RSTART, RLENGTH - 6) ", " name
	if (before ~ /(^|[^a-z_])struct $/ && ("struct " name) in places)
		name = "struct " name
	return name in places && !(name in unlinked) ? places[name] : ""
}

function linked_text(text,    done, word, place)
{
	while (match(text, /[A-Za-z_][A-Za-z0-9_]*([.\/][A-Za-z0-9_-]+)*/)) {
		done = done substr(text, 1, RSTART - 1)
		word = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		place = place_of(word, done)
		if (place == "" && match(word, /[.\/]/)) { # of struct.field, the struct
			text = substr(word, RSTART) text
			word = substr(word, 1, RSTART - 1)
			place = place_of(word, done)
		}
		done = done (place == "" ? word : "<a href=\"" way(page, place) "\">" word "</a>")
	}
	return done text
}

# HTML in which names outside of links are links. A link may go on in the next line.
function linked(html,    done, text, tag)
{
	while (html != "") {
		if (!match(html, /<[^>]*>/))
			RSTART = length(html) + 1
		text = substr(html, 1, RSTART - 1)
		tag = substr(html, RSTART, RLENGTH)
		html = RLENGTH > 0 ? substr(html, RSTART + RLENGTH) : ""
		done = done (in_link ? text : linked_text(text)) tag
		if (tag ~ /^<a /)
			in_link = 1
		else if (tag == "</a>")
			in_link = 0
	}
	return done
}

function escaped(text)
{
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	gsub(/"/, "\\&quot;", text)
	return text
}

BEGIN {
	FS = "\t"
	while (names != "" && (getline < names) > 0)
		places[$1] = $2
	FS = " "
}
