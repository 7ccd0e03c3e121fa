#!/usr/bin/env bash
# fresh.sh - proves commands of ./run in a Debian bookworm that has nothing yet: `./run fresh [COMMAND]...`
#
# The system is made by debootstrap from the apt mirror that this machine is configured with, once; its tarball and the
# packages that were fetched since are kept in ~/.cache/whorl. The source goes in as it would from an archive: the files
# that git knows, without git itself. Mounts and processes live in namespaces of their own, so nothing is left behind.

set -euo pipefail

source=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/whorl
base=$cache/bookworm-$(dpkg --print-architecture).tar

say() { printf '== fresh: %s\n' "$*" >&2; }
die() { printf 'fresh: %s\n' "$2" >&2; exit "$1"; }

# ---- inside: process 1 of the namespaces, with the root of the new system -----------------------------------------------

inside() {
	local root=$1 command begin status
	shift
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t devpts devpts "$root/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mount --bind "$cache/archives" "$root/var/cache/apt/archives"

	within() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@" </dev/null; }

	status=0
	within runuser -u nobody -- /srv/whorl/run build >"$root/refused" 2>&1 || status=$?
	if [ $status -ne 3 ] || [ "$(grep -c '^apt-get install ' "$root/refused")" -ne 1 ]; then
		cat "$root/refused" >&2
		die 1 "a user without sudo should get exit status 3 and one apt-get command, and got $status"
	fi
	say "a user without sudo is told: $(grep '^apt-get install ' "$root/refused")"

	for command in "$@"; do
		say "./run $command"
		begin=$SECONDS
		# shellcheck disable=SC2086 # "bench --quiet" is two words
		within /srv/whorl/run $command || die 1 "./run $command failed with $?"
		say "./run $command took $((SECONDS - begin)) s"
	done
}

if [ "${1:-}" = --inside ]; then
	inside "${@:2}"
	exit
fi

# ---- outside ------------------------------------------------------------------------------------------------------------

# The lines of sources.list for bookworm, as apt is configured here.
configured_sources() {
	# shellcheck disable=SC2016 # apt fills in these
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		grep -E ' bookworm(-updates|-security)? main$' | sort -u
}

[ $# -gt 0 ] || set -- bench test
mkdir -p "$cache/archives/partial"
work=$(mktemp -d /var/tmp/whorl-fresh.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM
root=$work/root

sources=$(configured_sources) || { apt-get --quiet=2 update >&2 && sources=$(configured_sources); } ||
	die 3 "apt is configured with no mirror of bookworm"

if [ ! -f "$base" ]; then
	mirror=$(awk '$3 == "bookworm" { print $2; exit }' <<<"$sources")
	say "debootstrap from $mirror"
	debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		die 3 "debootstrap failed"
	}
	chroot "$root" apt-get clean
	tar -C "$root" --numeric-owner -cf "$work/base.tar" .
	mv "$work/base.tar" "$base"
else
	say "the base is $base"
	mkdir "$root"
	tar -C "$root" --numeric-owner -xf "$base"
fi

printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
apt-config dump | grep -i '^Acquire::https\?::.*Proxy ' >"$root/etc/apt/apt.conf.d/00proxy" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"

mkdir -p "$root/srv/whorl"
if git -C "$source" rev-parse --git-dir >/dev/null 2>&1; then
	git -C "$source" ls-files -z | tar -C "$source" --null --files-from=- -cf -
else
	tar -C "$source" --exclude=./build -cf - .
fi | tar -C "$root/srv/whorl" --no-same-owner -xf -

unshare --mount --pid --fork --kill-child "$0" --inside "$root" "$@"
say "passed: $*"
