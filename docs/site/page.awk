# page.awk - what cmark-gfm makes of a page of Markdown, fit for the site: headings have anchors, links lead to pages of the site, tables
# may be wider than a phone, names of the interface lead to the reference:
#     cmark-gfm -e table PAGE.md | awk -v names=FILE -v page=PAGE.html -f slug.awk -f names.awk -f page.awk

# Where a link leads: pages end with .html, and so do sources, which site.sh makes pages of; pictures are copied.
function target(link,    at, anchor)
{
	if (link ~ /^[a-z]+:/ || link ~ /^#/)
		return link
	if ((at = index(link, "#")) > 0) {
		anchor = substr(link, at)
		link = substr(link, 1, at - 1)
	}
	sub(/\/$/, "", link)
	if (link ~ /\.(svg|png)$/)
		return link anchor
	if (link ~ /(^|\/)README\.md$/)
		sub(/README\.md$/, "index", link)
	else
		sub(/\.md$/, "", link)
	return link ".html" anchor
}

function with_targets(line,    done, value)
{
	while (match(line, / (href|src)="[^"]*"/)) {
		value = substr(line, RSTART, RLENGTH - 1)
		at = index(value, "\"")
		done = done substr(line, 1, RSTART - 1) substr(value, 1, at) target(substr(value, at + 1)) "\""
		line = substr(line, RSTART + RLENGTH)
	}
	return done line
}

# Text as it is read, of HTML.
function text_of(html)
{
	gsub(/<[^>]*>/, "", html)
	gsub(/&(lt|gt|quot|amp);/, "", html) # no such character is in an anchor
	return html
}

/^<h[1-6]>/ {
	name = slug(text_of($0), slugs)
	sub(/>/, " id=\"" name "\">")
	sub(/<\/h[1-6]>$/, " <a class=\"here\" href=\"#" name "\" title=\"A link to here\">#</a>&")
	print with_targets($0)
	next
}
{
	if (/ align="(right|center)"/)
		gsub(/ align="/, " class=\"")
	gsub(/ align="left"/, "")
	sub(/^<table>/, "<div class=\"wide\">\n&")
	sub(/^<\/table>/, "&\n</div>")
	print linked(with_targets($0))
}
