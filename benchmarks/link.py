"""A long link: link.py DELAY_S COMMAND has a shell execute it, and passes on input and output.

Each byte and each end arrives so many seconds later, in the order in which they were sent.
"""

import os
import queue
import subprocess
import sys
import threading
import time


def link(delay_s: float, command: str) -> int:
    """Its exit code."""
    with subprocess.Popen(
        ("sh", "-c", command), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        into, out_of = child.stdin.fileno(), child.stdout.fileno()
        there = threading.Thread(target=_pass_on, args=(0, into, delay_s), daemon=True)
        there.start()
        _pass_on(out_of, 1, delay_s)
        return child.wait()


def _pass_on(source: int, to: int, delay_s: float) -> None:
    """What comes, and its end."""
    under_way = queue.SimpleQueue[tuple[float, bytes]]()

    def read() -> None:
        data = b"-"
        while data:
            data = os.read(source, 1 << 16)
            under_way.put((time.monotonic() + delay_s, data))

    threading.Thread(target=read, daemon=True).start()
    while True:
        due, data = under_way.get()
        time.sleep(max(0.0, due - time.monotonic()))
        if not data:
            os.close(to)
            return
        try:
            while data:
                data = data[os.write(to, data) :]
        except BrokenPipeError:
            return


if __name__ == "__main__":
    sys.exit(link(float(sys.argv[1]), sys.argv[2]))
