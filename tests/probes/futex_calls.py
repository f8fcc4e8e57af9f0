"""How long the kernel kept a process's threads asleep on each word, and who woke them, by what they called.

bpftrace looks at libc's own calls of futex(2), by uprobes on the instructions around them: that works on kernels that
have no kprobes, and without a word to any library. Locks of a program that sleeps elsewhere are not seen.

It can't unwind programs that have no frame pointers. So it shows the upper part of the caller's stack: whoever knows
where calls of locks return to finds them there."""

import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
_FUTEX = "$0xca,%eax"  # the system call's number
_NEAR = 8  # instructions before the call, where the number is set
# `& 127` of the operation: FUTEX_WAIT or FUTEX_WAIT_BITSET; FUTEX_WAKE or FUTEX_WAKE_BITSET.
_SCRIPT = """
BEGIN {{ printf("looking\\n"); }}

{before}
{{
	@since[tid] = nsecs;
	$command = reg("si") & 127;
	$word = reg("di");
	if (($command == 0 || $command == 9) && @waited_since[$word] == 0) {{
		@waited_since[$word] = nsecs;
	}}
}}

{after}
{{
	$command = reg("si") & 127;
	$word = reg("di");
	$shows = 0;
	if (($command == 0 || $command == 9) && @since[tid] != 0) {{
		$ns = nsecs - @since[tid];
		@slept[$word] = sum($ns);
		if ($ns >= 20000 && @seen[$word] < 3) {{
			@seen[$word] = @seen[$word] + 1;
			printf("wait %d %lu %lu\\n", tid, $word, $ns);
			$shows = 1;
		}}
	}}
	if (($command == 1 || $command == 10) && @waited_since[$word] != 0 && @shown[$word] < {wakes}) {{
		@shown[$word] = @shown[$word] + 1;
		printf("wake %d %lu %lu\\n", tid, $word, nsecs - @waited_since[$word]);
		delete(@waited_since[$word]);
		$shows = 1;
	}}
	delete(@since[tid]);
	if ($shows == 1) {{
		$at = reg("sp");
		$i = 0;
		while ($i < 24) {{
			printf("on %d %lx %lx %lx %lx\\n", tid, *(uint64 *)uptr($at), *(uint64 *)uptr($at + 8),
				*(uint64 *)uptr($at + 16), *(uint64 *)uptr($at + 24));
			$at = $at + 32;
			$i = $i + 1;
		}}
	}}
}}

END {{ clear(@since); clear(@waited_since); clear(@seen); clear(@shown); }}
"""


@cache
def script(wakes: int = 300) -> str:
    """For each word `wakes` of them are shown."""
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", LIBC], check=True, capture_output=True, text=True)
    code = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    before, after = [], []
    for i, (_, *words) in enumerate(code):
        if words[-1].strip() != "syscall" or not any(_FUTEX in line[-1] for line in code[i - _NEAR : i]):
            continue
        # The operation of some calls is set by the last instruction before: those are wakes.
        if not code[i - 1][-1].startswith("xor    $0x81,%sil"):
            before.append(code[i - 1][0])
        after.append(code[i + 1][0])
    assert len(after) > 20, "libc calls futex in another way"

    def probes(addresses: list[str]) -> str:
        return ",\n".join(f"uprobe:{LIBC}:0x{one.strip().rstrip(':')}" for one in addresses)

    return _SCRIPT.format(before=probes(before), after=probes(after), wakes=wakes)


@dataclass
class Call:
    word: int
    ns: int  # of a wait: how long; of a wake: since when somebody had waited
    stack: list[int] = field(default_factory=list)


@dataclass
class Calls:
    slept: dict[int, int]  # ns by word, of all calls
    waits: list[Call]  # some of each word
    wakes: list[Call]
    lost: int


def read(said: str) -> Calls:
    """The words of a stack come in parts, between which other threads' may come."""
    found: dict[str, list[Call]] = {"wait": [], "wake": []}
    last: dict[str, Call] = {}  # by thread
    for line in said.splitlines():
        kind, *words = line.split() or [""]
        if kind in found and len(words) == 3:
            last[words[0]] = Call(int(words[1]), int(words[2]))
            found[kind].append(last[words[0]])
        elif kind == "on" and len(words) == 5 and words[0] in last:
            last[words[0]].stack += [int(word, 16) for word in words[1:]]
    slept: dict[int, int] = defaultdict(int)
    for word, ns in re.findall(r"^@slept\[(-?\d+)\]: (\d+)", said, re.MULTILINE):
        slept[int(word)] += int(ns)
    lost = sum(map(int, re.findall(r"Lost (\d+) events", said)))
    return Calls(slept, found["wait"], found["wake"], lost)
