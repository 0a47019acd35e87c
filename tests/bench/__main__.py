"""Run the benchmarks of this folder, or those named, and print one table: `make bench`."""

import argparse
import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tests.bench
from tests.bench.table import Figure, show

_PREFIX = "bench_"
_FIRST = ("ingest", "judging", "startup")  # what has goals stands first


def benchmarks() -> tuple[str, ...]:
    """The names of all benchmarks, goals first: `growth` is `tests.bench.bench_growth`."""
    modules = (module.name for module in pkgutil.iter_modules(tests.bench.__path__))
    names = [name.removeprefix(_PREFIX) for name in modules if name.startswith(_PREFIX)]
    return tuple(sorted(names, key=lambda name: (name not in _FIRST, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The benchmarks to run, and where public data lies for those that can use it."""

    names: tuple[str, ...]
    data: Path | None = None


def chosen(arguments: Sequence[str] | None = None) -> Chosen:
    """What the command line says, all benchmarks without a name; it ends where one is unknown."""
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with btrplace/, roadef2012/"
    )
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in known:
            parser.error(f"there is no benchmark {name!r}, expected {', '.join(known)}")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: there is no folder {options.data}")
    return Chosen(names=tuple(dict.fromkeys(options.names)) or known, data=options.data)


def figures(choice: Chosen) -> Iterator[Figure]:
    """The figures of these benchmarks."""
    for name in choice.names:
        found = importlib.import_module(f"tests.bench.{_PREFIX}{name}").figures
        wants_data = "data" in inspect.signature(found).parameters
        yield from found(data=choice.data) if wants_data else found()


if __name__ == "__main__":
    show(figures(chosen()))
