#!/usr/bin/env bash
# chroot.sh COMMAND - a network can be made in a chroot as well, where / is no mount of its own: as in ./run fresh. It is made of the
# directories of this machine, in namespaces that end with the test.

set -euo pipefail

command=$(readlink -f "$1")
source=$(dirname "$(readlink -f "$0")")/..

if [ "${2:-}" != inside ]; then
	unshare --mount --pid --fork true 2>/dev/null || {
		echo "only root can make a chroot"
		exit 77
	}
	root=$(mktemp -d)
	trap 'rm -rf --one-file-system "$root"' EXIT
	unshare --mount --pid --fork --kill-child "$0" "$1" inside "$root"
	exit
fi
root=$3

mkdir -p "$root"/{usr,etc,dev,proc,run,tmp,whorl}
for link in bin sbin lib lib32 lib64 libx32; do
	if [ -L "/$link" ]; then ln -s "usr/$link" "$root/$link"; fi
done
for directory in usr etc dev; do mount --rbind "/$directory" "$root/$directory"; done
mount -t proc proc "$root/proc"
touch "$root/whorl/command"
mount --bind "$command" "$root/whorl/command"
mkdir "$root/whorl/tests"
mount --bind "$source" "$root/whorl/tests"
status=0
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin bash /whorl/tests/network/scenarios.sh /whorl/command two-groups || status=$?
if [ $status -eq 77 ]; then
	echo "no network can be made in a chroot"
	exit 1
fi
exit $status
