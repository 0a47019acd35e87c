"""What many runs covered: each kind of call with each of its faults, each deed at each state."""

from collections import Counter
from collections.abc import Iterable

from tests.torture.schedule import CELLS, DEEDS, FAULTS, FILE_DEEDS, NEVER, POD_DEEDS, STATES

Cell = tuple[str, str]


def missing(met: Counter[Cell]) -> list[Cell]:
    return [cell for cell in CELLS if not met[cell] and cell not in NEVER]


def table(met: Counter[Cell]) -> str:
    """Counts of runs by cell; `-` where something cannot happen."""
    hows = list(dict.fromkeys(how for known in FAULTS.values() for how in known))
    faults = [
        [call, *(str(met[call, how]) if how in known else "-" for how in hows)]
        for call, known in FAULTS.items()
    ]
    deeds = [
        [what, *("-" if cell in NEVER else str(met[cell]) for cell in _row(what))]
        for what in (*DEEDS, *POD_DEEDS, *FILE_DEEDS)
    ]
    return "\n\n".join(
        (_columns([["call", *hows], *faults]), _columns([["deed", *STATES], *deeds]))
    )


def _row(what: str) -> list[Cell]:
    return [(f"deed {what}", state) for state in STATES]


def _columns(rows: Iterable[list[str]]) -> str:
    lines = list(rows)
    widths = [max(len(row[index]) for row in lines) for index in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in lines
    )
