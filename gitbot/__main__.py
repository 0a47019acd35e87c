"""Entry point: `gitbot` and `python -m gitbot`."""

from __future__ import annotations

import gc
import os
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line and exit with its code.

    The cycle collector starts when a command's modules are there, and never looks at what was
    imported, nor at what is left at the end: that would take a sixth of a short command's time.
    """
    gc.disable()
    # No other package of this Python may have a say in how an intent is read.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from gitbot.cli.main import main as run  # noqa: PLC0415 - after what is said above

    try:
        run()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
