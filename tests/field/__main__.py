"""Print the list of shapes as tab-separated lines, and how many there are.

The last column is what gitbot answers now: the lines of its answer that the test asks for.
"""

import contextlib
import re
import sys
import tempfile
from pathlib import Path

from tests.field.shapes import NOW, Shape, freezes, shapes, write
from tests.unit.cli.desk import typed

COLUMNS = ("id", "source", "shape", "right", "by", "before")


def main() -> None:
    found = shapes()
    for each in found:
        told = [*(str(getattr(each, name)) for name in COLUMNS), after(each)]
        print("\t".join(" ".join(text.split()) for text in told), flush=True)
    threads = sum("#" in each.source for each in found)
    failed = sum(not each.before.startswith("right") for each in found)
    counts = (
        f"{len(found)} shapes, {threads} of them from threads; {failed} failed when first tried"
    )
    print(counts, file=sys.stderr)


def after(shape: Shape) -> str:
    """What gitbot answers now, as far as the test of the shape looks at it."""
    if shape.story:
        return "a story of several commands: see its test"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write(shape, Path(folder))
        return " | ".join(_answers(shape))


def _answers(shape: Shape) -> list[str]:
    found = []
    if shape.times is not None:
        frozen = freezes()
        found.append(f"frozen {', '.join(frozen)}" if frozen else "never frozen")
    if shape.explain:
        asked = ("--snapshot", "cluster", "--no-intents", "--now", NOW)
        said = typed("explain", *shape.explain.split(), *asked)
        found += [line for line in said.out.splitlines() if not line.startswith("  warn")]
    for command in shape.run:
        said = typed(*command.split())
        lines = said.text.splitlines()
        wanted = [line for line in lines if any(re.search(words, line) for words in shape.says)]
        found += [*(wanted or lines[:1]), f"exit code {said.code}"]
    return found


if __name__ == "__main__":
    main()
