"""Folders that are gone afterwards, whatever happens meanwhile."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """A private folder that is gone afterwards, also where somebody interrupts its removal.

    What another process still writes into it does not make it an error.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"gitbot-{name}-"))
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
