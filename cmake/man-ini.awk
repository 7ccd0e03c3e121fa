# man-ini.awk - the manual page of the ini file, section 5, from what `whorl config --describe` says, which is made of the tables that the
# parser uses:
#     whorl config --describe | awk -v version=0.1.0 -f man-ini.awk

function roff(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/'/, "\\(aq", text)
	return text ~ /^\./ ? "\\\\&" text : text
}

BEGIN {
	print ".TH WHORL.INI 5 \"\" \"whorl " version "\" \"whorl\""
	print ".SH NAME\nwhorl.ini \\- what a group of whorl is, and what its command does with it"
	print ".SH DESCRIPTION"
	print "An ini file: sections in brackets, and below each a line for each key that is not to have its default,"
	print ".IR \"key\" \" = \" \"value\" ."
	print ".B #"
	print "and"
	print ".B ;"
	print "begin a comment. Numbers may end in k, m or g: times 1024 for bytes, times 1000 otherwise. Where a list is allowed,"
	print "as in \"bytes = 128, 10240\","
	print ".BR whorl\\-bench (1)"
	print "runs each combination. Programs read such a file with"
	print ".BR whorl_config_load_file (3);"
	print ".B whorl config \\-\\-sample"
	print "prints one in which every key has its default, and"
	print ".B whorl config \\-\\-check"
	print "tells all mistakes of one."
}

/^\[/ { print ".SH " roff($0); next }

/^  [^ ]/ {
	sub(/^ */, "")
	key = value = $0
	sub(/ = .*/, "", key)
	sub(/^[^=]* = ?/, "", value)
	print ".TP\n.B " roff(key) " = " (value == "" ? "" : roff(value))
	next
}

/^ *$/ { next }

# The range stands alone, the meaning may have several lines.
{
	sub(/^ */, "")
	if ($0 ~ /^(one of |on \| off|may be a list)|^[0-9]+ to [0-9]/)
		print ".br"
	print roff($0)
}

END {
	print ".SH SEE ALSO\n.BR whorl (1),\n.BR whorl\\-config (1),\n.BR whorl (3)"
}
