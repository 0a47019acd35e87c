"""Instances of the ROADEF/EURO challenge 2012 as columns, read from its text files.

Processes of services run on machines; a better assignment than the given one is wanted. The text
is a stream of whole numbers; a file of another length is refused with ValueError.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from gitbot.model.cluster.columns import Mask, Numbers

ARCHIVE = "roadef2012/instances.tar.xz"
_FOLDER = "roadef/instances"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Of `second`, at least `target` times as much as of `first` is wanted free on a machine."""

    first: int
    second: int
    target: int
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Columns over resources, machines, services and processes; `home` is the given assignment."""

    transient: Mask
    load_weight: Numbers
    neighbourhood: Numbers
    location: Numbers
    capacity: Numbers  # (machines, resources)
    safety: Numbers  # (machines, resources)
    machine_move: Numbers  # (machines, machines)
    spread: Numbers  # (services,): locations that a service covers at least
    depends: tuple[tuple[int, ...], ...]  # by service
    service: Numbers  # (processes,)
    requirement: Numbers  # (processes, resources)
    process_move: Numbers  # (processes,)
    balances: tuple[Balance, ...]
    weights: tuple[int, int, int]  # of moved processes, of services, of pairs of machines
    home: Numbers  # (processes,)

    @property
    def size(self) -> str:
        return f"{len(self.location):,} machines, {len(self.home):,} processes"


def read(model: str, assignment: str) -> Model:
    """The instance of a model file and an assignment file."""
    numbers = map(int, model.split())
    resources = _table(numbers, _one(numbers), 2)
    width = len(resources)
    machines = _one(numbers)
    rows = _table(numbers, machines, 2 + 2 * width + machines)
    spread, depends = [], []
    for _ in range(_one(numbers)):
        spread.append(_one(numbers))
        depends.append(tuple(islice(numbers, _one(numbers))))
    processes = _table(numbers, _one(numbers), 2 + width)
    balances = _table(numbers, _one(numbers), 4).tolist()
    process, service, machine = islice(numbers, 3)
    home = np.array(assignment.split(), dtype=np.int64)
    if len(home) != len(processes) or next(numbers, None) is not None:
        raise ValueError("model and assignment: expected one machine a process and nothing more")
    return Model(
        transient=resources[:, 0].astype(bool),
        load_weight=resources[:, 1],
        neighbourhood=rows[:, 0],
        location=rows[:, 1],
        capacity=rows[:, 2 : 2 + width],
        safety=rows[:, 2 + width : 2 + 2 * width],
        machine_move=rows[:, 2 + 2 * width :],
        spread=np.array(spread, dtype=np.int64),
        depends=tuple(depends),
        service=processes[:, 0],
        requirement=processes[:, 1:-1],
        process_move=processes[:, -1],
        balances=tuple(
            Balance(first=first, second=second, target=target, weight=weight)
            for first, second, target, weight in balances
        ),
        weights=(process, service, machine),
        home=home,
    )


def _one(numbers: Iterator[int]) -> int:
    return next(numbers)


def _table(numbers: Iterator[int], rows: int, width: int) -> Numbers:
    cells = np.fromiter(islice(numbers, rows * width), dtype=np.int64)
    return cells.reshape(rows, width)


def stored(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, Model]]:
    """The named instances of the archive in a folder, in this order."""
    with tarfile.open(folder / ARCHIVE) as archive:
        wanted = {
            f"{_FOLDER}/{kind}_{name}.txt" for name in names for kind in ("model", "assignment")
        }
        texts = {}
        for member in archive:
            if member.name in wanted:
                file = archive.extractfile(member)
                assert file is not None
                texts[member.name] = file.read().decode()
    for name in names:
        yield (
            name,
            read(texts[f"{_FOLDER}/model_{name}.txt"], texts[f"{_FOLDER}/assignment_{name}.txt"]),
        )
