"""The end of a server whose host is gone, though the pipe that it reads from is held open.

A process that a killed host leaves behind may hold the other end: then no end of the input comes.
"""

from __future__ import annotations

import os
import threading
import time

# Seconds between two looks, and after which nothing more is awaited of a host that is gone
LOOK, LEFT_OVER = 2.0, 3.0


def end_with_host(look: float = LOOK, left_over: float = LEFT_OVER) -> None:
    """Watch from now on whether the process that started this one is there, and end with it.

    What it sent before is still answered for some seconds.
    """
    host = os.getppid()
    if host <= 1:
        # the first process of a container started it: there is no other host to lose
        return

    def watch() -> None:
        while os.getppid() == host:
            time.sleep(look)
        time.sleep(left_over)
        # what was accepted is in place, as after a kill at any other point
        os._exit(0)

    threading.Thread(target=watch, name="host-watch", daemon=True).start()
