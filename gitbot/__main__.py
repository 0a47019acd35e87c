"""Entry point: `gitbot` and `python -m gitbot`."""

from __future__ import annotations

from gitbot.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
