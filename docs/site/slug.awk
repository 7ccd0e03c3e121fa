# slug.awk - the name by which a link finds a heading, made as GitHub makes it, so that links work there and in the site.

# A second heading of the same words is `words-1`. `slugs` counts them, and is empty at the top of a page.
function slug(heading, slugs,    name)
{
	name = tolower(heading)
	gsub(/[^a-z0-9_ -]/, "", name)
	gsub(/ /, "-", name)
	return slugs[name]++ ? name "-" (slugs[name] - 1) : name
}
