"""Finding the processes of a run."""

import subprocess
from pathlib import Path

from lockswap.run.processes import Brood


def test_a_process_that_becomes_another_program_is_no_new_one():
    line = ["sh", "-c", "read line; exec sleep 60"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        try:
            brood = Brood()
            assert child.stdin
            child.stdin.write(b"go on\n")
            child.stdin.close()
            while Path(f"/proc/{child.pid}/comm").read_text() != "sleep\n":
                pass
            assert brood.alive() == []
        finally:
            child.kill()
