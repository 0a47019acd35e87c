"""Run the benchmarks of this folder, or those named, and print one table: `make bench`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Sequence

import tests.bench
from tests.bench.table import Figure, show

_PREFIX = "bench_"
_FIRST = ("ingest", "judging", "startup")  # what has goals stands first


def benchmarks() -> tuple[str, ...]:
    """The names of all benchmarks, goals first: `planner` is `tests.bench.bench_planner`."""
    modules = (module.name for module in pkgutil.iter_modules(tests.bench.__path__))
    names = [name.removeprefix(_PREFIX) for name in modules if name.startswith(_PREFIX)]
    return tuple(sorted(names, key=lambda name: (name not in _FIRST, name)))


def chosen(arguments: Sequence[str] | None = None) -> tuple[str, ...]:
    """The benchmarks that the command line names, all without any; it ends where one is unknown."""
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    names: list[str] = parser.parse_args(arguments).names
    for name in names:
        if name not in known:
            parser.error(f"there is no benchmark {name!r}, expected {', '.join(known)}")
    return tuple(dict.fromkeys(names)) or known


def figures(names: Iterable[str]) -> Iterator[Figure]:
    """The figures of these benchmarks."""
    for name in names:
        yield from importlib.import_module(f"tests.bench.{_PREFIX}{name}").figures()


if __name__ == "__main__":
    show(figures(chosen()))
