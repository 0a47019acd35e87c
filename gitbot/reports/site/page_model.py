"""What a page of the site is made of: the documents that it shows, tables, and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from gitbot.calendar import localized
from gitbot.published import (
    PublishedAudit,
    PublishedBoard,
    PublishedCalendar,
    PublishedListing,
    PublishedMap,
    PublishedMoves,
    PublishedPlans,
    PublishedStatus,
)


class Tone(StrEnum):
    """How loud a row or a page is; the class of its element."""

    GOOD = "good"
    CAREFUL = "careful"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteDocuments:
    """All that the site shows of one cluster, taken at one time. `zone` is for its times.

    `clusters` are all clusters of the configuration, as their bots published them. `healthy`:
    gitbot can do its work, also while a person holds it. `source` is the address of the files of
    the base branch's commit; "" without one.
    """

    zone: str
    source: str = ""
    healthy: bool
    clusters: PublishedListing
    status: PublishedStatus
    places: PublishedMap
    board: PublishedBoard
    plans: PublishedPlans
    rules: PublishedListing
    audit: PublishedAudit
    calendar: PublishedCalendar
    moves: PublishedMoves

    def file(self, place: str) -> Cell:
        """`path:line` of a finding, with a link to that line on the forge."""
        path, _, line = place.rpartition(":")
        if not line.isdigit():
            path, line = place, ""
        address = web_link(f"{self.source}/{quote(path)}") if self.source and path else ""
        return Cell(place, link=f"{address}#L{line}" if address and line else address, code=True)

    def local(self, text: str) -> str:
        """The text with its instants in the cluster's zone."""
        return localized(text, self.zone, now=self.status.now)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: words, which may link to an address of the forge, or a command."""

    text: str
    link: str = ""
    code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A section with rows; without rows the page leaves it out, or says `empty`."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    tone: Tone = Tone.GOOD
    empty: str = ""
    tones: tuple[Tone, ...] = ()  # of each row, where they differ
    open: bool = True  # False: folded until somebody opens it


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One node of the map. `level` is the tenths of its memory that are taken.

    `name` and `amount` are "" where there is no room for letters.
    """

    level: int
    state: str
    name: str
    amount: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneTiles:
    """The nodes of one zone, under a line of words."""

    words: str
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCard:
    """One node of a plan. `leaving` and `arriving` are VMs, each with the step that moves it."""

    node: str
    stay: str
    leaving: tuple[tuple[str, int], ...]
    arriving: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSlider:
    """A plan before it, after each step, and after it. `steps` says what each position shows."""

    words: str
    link: str
    steps: tuple[tuple[str, str], ...]
    cards: tuple[PlanCard, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """One page: `path` is its file, `document` the JSON beside it."""

    path: str
    title: str
    headline: str
    tone: Tone
    tables: tuple[Table, ...]
    document: str
    zones: tuple[ZoneTiles, ...] = ()
    sliders: tuple[PlanSlider, ...] = ()
    note: str = ""


def web_link(url: str) -> str:
    """The address if a browser may follow it from a page, else ""."""
    return url if url.startswith(("https://", "http://")) else ""


def command(text: str) -> Cell:
    """What to do next: a command to type, or plain words."""
    return Cell(text, code=text.startswith(("gitbot ", "kubectl ")))


def rows(found: Iterable[Iterable[Cell | str]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows of a table from cells and plain texts."""
    return tuple(
        tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in found
    )
