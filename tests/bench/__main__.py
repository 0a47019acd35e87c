"""Run every benchmark of this folder and print its figures: `make bench`."""

from __future__ import annotations

import importlib
import pkgutil

import tests.bench


def main() -> None:
    names = sorted(module.name for module in pkgutil.iter_modules(tests.bench.__path__))
    for name in names:
        if name.startswith("bench_"):
            importlib.import_module(f"tests.bench.{name}").main()


if __name__ == "__main__":
    main()
