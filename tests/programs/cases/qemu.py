"""qemu with two processors, each a thread of its own, under which a kernel starts."""

from suite.case import case
from suite.stage import Stage

INIT = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
exec >/dev/ttyS0
for part in 1 2 3 4; do
  /bin/busybox dd if=/dev/zero bs=64k count=16 2>/dev/null | /bin/busybox md5sum &
done
wait
echo "processors: $(/bin/busybox nproc)"
/bin/busybox reboot -f
"""
# Nothing is concluded from how long something takes: the host may be busy.
OPTIONS = (
    "console=ttyS0 quiet loglevel=1 panic=-1 mitigations=off "
    "no_timer_check tsc=reliable nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
)


@case(
    "qemu",
    packages=["qemu-system-x86", "cpio"],
    unpacked=["linux-image-cloud-amd64", "busybox-static"],
    acquisitions=20,
    mutexes=100_000,
    limit=1800,
)
def qemu(stage: Stage) -> None:
    """Debian's kernel starts on two emulated processors, and four processes compute there"""
    kernel = max(stage.data("boot").glob("vmlinuz-*-cloud-amd64"), default=None)
    stage.need(kernel, "linux-image-cloud-amd64 has no kernel")
    for folder in ("bin", "dev", "proc"):
        (stage.tmp / "root" / folder).mkdir(parents=True)
    stage.plain("cp", stage.program("busybox"), "root/bin/busybox")
    stage.write("root/init", INIT).chmod(0o755)
    stage.plain("sh", "-c", "cd root && find . | cpio --quiet -o -H newc >../initrd")
    output = stage.swapped(
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none",
        "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "256", "-serial", "stdio",
        "-kernel", kernel, "-initrd", "initrd", "-append", OPTIONS,
    ).stdout  # fmt: skip
    lines = [line.strip() for line in output.splitlines()]
    stage.same("\n".join(sorted(line for line in lines if line.endswith("-") or line.startswith("processors: "))))
    stage.need("processors: 2" in lines, f"the machine did not come up: {output[-500:]}")
