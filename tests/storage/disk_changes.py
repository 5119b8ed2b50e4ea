"""A process that is killed just before the n-th change that it makes to the disk."""

import subprocess
import sys

# Python tells an audit hook of every change before it makes it; kodex does for its own system call.
PROGRAM = """
import os, signal, sys
left = int(sys.argv.pop(1))
CHANGES = {{"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.truncate"}}
def hook(event, details):
    global left
    writes = event == "open" and isinstance(details[2], int) and details[2] & (
        os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    )
    if event in CHANGES or writes:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
{setup}
sys.addaudithook(hook)
{action}
"""


def killed_before(number, setup, action, folder):
    """Run `setup`, then `action` until it is about to change the disk; False if it came through."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(setup=setup, action=action), str(number)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert answer.returncode in (0, -9), answer.stderr
    return answer.returncode != 0
