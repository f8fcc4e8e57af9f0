#!/bin/sh
# The first process of an emulated machine: runs /job, whose output goes to the second serial line, and ends the
# machine. The first serial line is the kernel's.
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/tmp
ln -s /proc/self/fd /dev/fd
stty -F /dev/ttyS1 -opost
echo '@@booted' >/dev/ttyS1
# The line is closed, so all of it is out, before the machine ends.
sh /job >/dev/ttyS1 2>&1 </dev/null
echo "@@machine $?" >/dev/ttyS1
reboot -f
