"""What every benchmark gives back, and the one table that they are printed as."""

import os
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_HEAD = ("what", "gitbot", "peer", "ratio", "goal", "")
_WIDTHS = (84, 10, 26, 8, 8, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One comparison, both sides taken in this run. `ratio` is peer over gitbot.

    `goal` is the least ratio that is wanted, None where a figure is only told.
    """

    what: str
    gitbot: str
    peer: str = ""
    ratio: float | None = None
    goal: float | None = None

    @property
    def kept(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.ratio is None or self.goal is None:
            return None
        return self.ratio >= self.goal

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        ratio = "" if self.ratio is None else f"{self.ratio:,.{0 if self.ratio >= 100 else 2}f}x"
        goal = "" if self.goal is None else f">= {self.goal:g}x"
        kept = {None: "", True: "kept", False: "MISSED"}[self.kept]
        return self.what, self.gitbot, self.peer, ratio, goal, kept


def ms(seconds: float) -> str:
    """Seconds as people read them."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.0f} us"


def machine() -> str:
    """Where the figures were taken, and how busy the machine was."""
    model = ""
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().splitlines()
        model = next((line.partition(":")[2] for line in lines if "model name" in line), "")
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    python = ".".join(map(str, sys.version_info[:3]))
    where = model.strip() or platform.machine()
    return f"{os.cpu_count()} cores of {where}, Python {python}, load {load}"


def show(figures: Iterable[Figure]) -> None:
    """Print the table, each row as soon as it is known, and how many goals are kept."""
    print(machine())
    print(_line(_HEAD))
    began, kept = time.monotonic(), []
    for figure in figures:
        print(_line(figure.cells()), flush=True)
        if figure.kept is not None:
            kept.append(figure.kept)
    print(f"{sum(kept)} of {len(kept)} goals kept, in {time.monotonic() - began:.0f} s")


def _line(cells: tuple[str, ...]) -> str:
    return " ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()
