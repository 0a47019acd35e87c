"""Entry point: `gitbot` and `python -m gitbot`."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
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
    except SystemExit as end:
        _leave_quickly(end.code)
        raise
    except KeyboardInterrupt:  # another one, while the first was being answered
        os._exit(_INTERRUPTED)


def _run() -> NoReturn:
    try:
        _on(signal.SIGTERM, signal.default_int_handler)
        from gitbot.adapters.hidden_secrets import hide_secrets  # noqa: PLC0415 - as below
        from gitbot.cli.main import main as run  # noqa: PLC0415 - after the signal handlers above

        hide_secrets()
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


def _leave_quickly(code: object) -> None:
    """Leave without freeing every value, which takes half a second after 100,000 objects.

    As mypy and others end. Does nothing if something still runs, or if output cannot be written:
    then Python's own way out says so.
    """
    if not isinstance(code, int) or threading.active_count() > 1:
        return
    atexit._run_exitfuncs()  # noqa: SLF001 - Python's own way out has no other name for it
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):  # no stream, nobody reads it, or it is closed
        return
    os._exit(code)


if __name__ == "__main__":
    main()
