"""Sanitises logs of the Kubernetes client, which quote credential plugins and servers."""

from __future__ import annotations

import logging
import sys

from gitbot.reports import escape


class _SanitizingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        said = escape.plain(record.getMessage())
        sys.stderr.write(f"{record.levelname.lower()}: {said}\n")


def make_logs_harmless() -> None:
    """Print warnings and errors of libraries as one printable line each on stderr.

    A root logger that is already configured is left alone.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_SanitizingHandler(logging.WARNING))
