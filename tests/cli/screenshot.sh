#!/usr/bin/env bash
# screenshot.sh COMMAND [FOLDER] - what a browser makes of the page of `whorl report`: on a screen, on a phone, on paper. The page of
# FOLDER, or else one of short runs. Lines and words must be seen, nothing may stick out of a phone's width, paper has all of it. The
# pictures are left in build/screenshots for the eye.

set -euo pipefail

command=$1
folder=${2:-}
out=$PWD/build/screenshots
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

fail() { printf 'screenshot: %s\n' "$*" >&2; exit 1; }

# browser OPTION...: a profile of its own, no network; as root it has no sandbox.
browser() {
	timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
		--host-resolver-rules='MAP * ~NOTFOUND' --allow-file-access-from-files "$@" 2>>"$work/log" ||
		{ cat "$work/log" >&2; fail "chromium ended with $?"; }
}

if [ -z "$folder" ]; then
	folder=$work/results
	mkdir "$folder"
	for name in 07-batches 16-final; do
		"$command" bench "conf/figures/$name.ini" --quiet --set bench.messages_total=2000 --set bench.runs=3 --set bench.limit=off \
			--set 'group.nodes=2, 4' --json "$folder/$name.json" >/dev/null
	done
fi
"$command" report "$folder" -o "$work/index.html"
figures=$(grep -c '<h2 ' "$work/index.html")

# ---- on a screen, on a phone -------------------------------------------------------------------------------------------

for width in 1200 500; do
	browser --window-size=$width,3000 --screenshot="$out/$width.png" "file://$work/index.html"
	# The colours of the first two series.
	for colour in '148 *0 *211' '0 *158 *115'; do
		pixels=$(pngtopnm "$out/$width.png" | ppmhist -noheader 2>/dev/null | awk -v c="^ *$colour" '$0 ~ c { n += $NF } END { print n + 0 }')
		[ "$pixels" -gt 200 ] || fail "$width pixels wide: no line of colour $colour is seen"
	done
done

# ---- as the browser lays it out ----------------------------------------------------------------------------------------

cat >"$work/frame.html" <<'END'
<iframe id="f" src="index.html" height="800"></iframe>
<script>
onload = () => {
	const frame = document.getElementById("f"), seen = [];
	for (const width of [1200, 360]) {
		frame.width = width;
		const page = frame.contentDocument, all = page.documentElement;
		const wide = [...page.querySelectorAll("svg")].filter(e => {
			const box = e.getBoundingClientRect();
			return box.width < 250 || box.height < 100 || box.right > width;
		});
		seen.push(`${width}: ${page.querySelectorAll("svg").length} pictures, ${wide.length} bad, ${all.scrollWidth - all.clientWidth} beside`);
	}
	document.body.innerHTML = "<pre>" + seen.join("\n") + "</pre>";
};
</script>
END
browser --dump-dom "file://$work/frame.html" >"$work/laid-out"
for width in 1200 360; do
	grep -q "$width: $figures pictures, 0 bad, 0 beside" "$work/laid-out" || {
		cat "$work/laid-out" >&2
		fail "$width pixels wide: something is missing, or sticks out"
	}
done

# ---- on paper ----------------------------------------------------------------------------------------------------------

browser --print-to-pdf="$out/paper.pdf" --no-pdf-header-footer "file://$work/index.html"
pages=$(grep -ac '/Type */Page\b' "$out/paper.pdf")
[ "$pages" -gt "$figures" ] || fail "on paper there are $pages pages for $figures figures"
printf 'a page of %d figures is good on a screen, on a phone and on %d sheets: %s\n' "$figures" "$pages" "$out"
