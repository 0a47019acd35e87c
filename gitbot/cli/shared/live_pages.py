"""The pages of a cluster while its bot runs: made after a pass from what the pass read, and served.

A pass leaves documents, which never change. The first client that asks for a page draws it, in a
thread of its own, so a page that nobody reads costs nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gitbot.calendar import format_duration
from gitbot.cli.shared.output import shipped_templates
from gitbot.reports.site import Draw, fleet_files, site_drawings, with_age

if TYPE_CHECKING:
    from gitbot.reports.site import SiteDocuments

OLD = 900  # seconds after which pages call themselves stale, with passes every five minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """The documents of one pass: its number, and the second of its look."""

    number: int
    time: int
    documents: SiteDocuments | None


class LivePages:
    """The files of the last pass that could be shown. `old`: seconds until they are stale."""

    def __init__(self, now: Callable[[], int], *, old: int = OLD) -> None:
        self._now = now
        self._old = old
        self._made = _Made(number=0, time=0, documents=None)
        self._trouble = ""
        self._guard = threading.Lock()
        self._draws: Mapping[str, Draw] = {}
        self._drawn: dict[str, bytes] = {}
        self._of: _Made = self._made

    def show(self, number: int, documents: SiteDocuments) -> None:
        """From now on, serve these of the pass with that number."""
        time = documents.status.now
        self._made, self._trouble = _Made(number=number, time=time, documents=documents), ""

    def failed(self, why: str) -> None:
        """Say why these pages are not those of the last pass."""
        self._trouble = why

    def file(self, path: str) -> bytes | None:
        """A file by its path; None if there is none of that name, b"" before the first pass."""
        made, found = self._ready(path)
        if made.documents is None:
            return b""
        if found is None or not path.endswith(".html"):
            return found
        age = max(0, self._now() - made.time)
        stale = age > self._old or bool(self._trouble)
        words = f"Pass {made.number} looked {format_duration(age)} ago."
        if stale:
            words = f"Stale: {words[0].lower()}{words[1:]}"
        return with_age(found, f"{words} {self._trouble}".rstrip(), stale=stale)

    def _ready(self, path: str) -> tuple[_Made, bytes | None]:
        """The last documents and a file of them, drawn once."""
        with self._guard:
            made = self._made
            if made is not self._of and made.documents is not None:
                self._draws, self._drawn, self._of = _drawings(made.documents), {}, made
            if path in self._draws and path not in self._drawn:
                self._drawn[path] = self._draws[path]()
            return self._of, self._drawn.get(path)


def _drawings(documents: SiteDocuments) -> Mapping[str, Draw]:
    templates = shipped_templates()
    name = documents.status.cluster
    all_clusters = fleet_files(documents.clusters, (name,), templates=templates)
    own = site_drawings(documents, templates=templates)
    return {
        **{path: partial(bytes, content) for path, content in all_clusters.items()},
        **{f"{name}/{path}": draw for path, draw in own.items()},
    }
