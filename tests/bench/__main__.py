"""Run every benchmark of this folder and print one table: `make bench`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import tests.bench
from tests.bench.table import Figure, show


def figures() -> Iterator[Figure]:
    """The figures of all benchmarks, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(tests.bench.__path__))
    for name in names:
        if name.startswith("bench_"):
            yield from importlib.import_module(f"tests.bench.{name}").figures()


if __name__ == "__main__":
    show(figures())
