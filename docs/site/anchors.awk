# anchors.awk - the anchors of a page of Markdown, one a line: awk -f slug.awk -f anchors.awk PAGE.md

/^```/ { inside = !inside }
!inside && /^#+ / {
	sub(/^#+ +/, "")
	while (match($0, /\]\([^)]*\)/)) # of a link, what is read
		$0 = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
	print slug($0, slugs)
}
