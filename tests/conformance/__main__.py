"""Ask all cases and print how many agree: `python -m tests.conformance --data DIR`."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.conformance.cel import FOLDER, asked, cases


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a clone of google/cel-spec")
    folder = parser.parse_args().data / FOLDER
    if not folder.is_dir():
        parser.error(f"--data: there is no folder {folder}")
    agree, wrong = 0, list[str]()
    known, left_out = Counter[str](), Counter[str]()
    for name, found in cases(folder):
        outcome = asked(found)
        apart = sum(outcome.left_out.values())
        print(f"{name}: {len(found)} cases, {outcome.agree} agree, {apart} do not apply")
        agree += outcome.agree
        known += outcome.known
        left_out += outcome.left_out
        wrong += outcome.wrong
    print(*wrong, sep="\n")
    print(f"{agree} agree, {len(wrong)} do not")
    for words, counts in (("known differences", known), ("do not apply", left_out)):
        print(f"{counts.total()} {words}:")
        for why, count in sorted(counts.items()):
            print(f"  {count} {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
