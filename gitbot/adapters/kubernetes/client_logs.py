"""What the Kubernetes client logs, made harmless: it quotes credential plugins and servers."""

from __future__ import annotations

import logging
import sys

from gitbot.reports import escape


class _SanitizingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        said = escape.plain(record.getMessage())
        sys.stderr.write(f"{record.levelname.lower()}: {said}\n")


def make_logs_harmless() -> None:
    """Warnings and errors of libraries become one printable line each on stderr.

    A root logger that somebody else has set up is left alone.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_SanitizingHandler(logging.WARNING))
