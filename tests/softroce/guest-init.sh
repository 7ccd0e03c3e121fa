#!/bin/busybox sh
# guest-init.sh - the first program of the virtual machine, run by busybox in the initramfs: loads the modules, and puts
# together the file system: that of the host, read-only, under a layer in memory. guest-start.sh goes on in it.
# shellcheck shell=dash disable=SC1091,SC2154 # `environment` is from softroce.sh

/bin/busybox --install -s /bin
export PATH=/bin

fail() {
	echo "softroce: $*" >/dev/console
	poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
. /environment

while read -r module; do
	insmod "/mod/$module" || fail "the module $module cannot be loaded"
done </mod/order

share=trans=virtio,version=9p2000.L,msize=524288
mount -t 9p -o "$share,cache=loose,ro" host /lower || fail "the files of the host cannot be mounted"
mount -t tmpfs -o size=70% tmpfs /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /new || fail "no overlay"

mkdir -p /new/proc /new/sys /new/dev /new/run /new/tmp
for directory in proc sys dev; do
	mount --move /$directory /new/$directory
done
mkdir -p /new/dev/shm /new/dev/pts
mount -t tmpfs -o mode=1777 tmpfs /new/dev/shm
mount -t devpts devpts /new/dev/pts
mount -t tmpfs tmpfs /new/run
ln -s /proc/self/fd /new/dev/fd
for link in stdin:0 stdout:1 stderr:2; do
	ln -s "/proc/self/fd/${link#*:}" "/new/dev/${link%:*}"
done
if [ -n "$writable" ]; then
	mkdir -p "/new$writable"
	mount -t 9p -o "$share,cache=none,rw" writable "/new$writable" || fail "$writable cannot be mounted"
fi

mkdir /new/run/softroce
cp /bin/busybox /start /environment /command /new/run/softroce/
cd /new || fail "no file system"
exec switch_root /new /bin/bash /run/softroce/start
