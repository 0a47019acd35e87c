"""Print the list of shapes as tab-separated lines, and how many there are."""

import sys

from tests.field.shapes import shapes

COLUMNS = ("id", "source", "shape", "right", "by", "before")


def main() -> None:
    found = shapes()
    for each in found:
        print("\t".join(" ".join(str(getattr(each, name)).split()) for name in COLUMNS))
    threads = sum("#" in each.source for each in found)
    failed = sum(not each.before.startswith("right") for each in found)
    counts = (
        f"{len(found)} shapes, {threads} of them from threads; {failed} failed when first tried"
    )
    print(counts, file=sys.stderr)


if __name__ == "__main__":
    main()
