"""Entry point: `gitbot` and `python -m gitbot`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

__all__ = ["main"]

_INTERRUPTED = 130  # what a shell says of a program that SIGINT ended
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> NoReturn:
    """Run the command line and exit with its code.

    SIGTERM ends every command as Ctrl-C does: what it put into temporary folders goes, and the
    code is 130, whenever it comes. The cycle collector starts when a command's modules are there,
    and never looks at what was imported, nor at what is left at the end: that would take a sixth
    of a short command's time.
    """
    gc.disable()
    # No other package of this Python may have a say in how an intent is read.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        _run()
    except KeyboardInterrupt:  # another one, while the first was being answered
        os._exit(_INTERRUPTED)


def _run() -> NoReturn:
    try:
        _on(signal.SIGTERM, signal.default_int_handler)
        from gitbot.cli.main import main as run  # noqa: PLC0415 - after the signal handlers above

        run()
    except KeyboardInterrupt:  # while it began, or while it said how it ended
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    finally:
        for number in _SIGNALS:
            _on(number, _leave)
        gc.freeze()


def _on(number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> None:
    """Handle a signal, unless the parent process ignores it, as nohup does."""
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, handler)


def _leave(*_signal: object) -> None:
    """All is done but leaving: no traceback now, and no other code."""
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
