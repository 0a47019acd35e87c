"""Search for differences, or record vectors: `python -m tests.scheduling --seeds 0:5000`.

With --record the small ones of these scenarios are written to the recorded file; with --mutate
the scenarios are recorded ones, recombined.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from tests.controlplane import build
from tests.scheduling import mutations, scenarios, vectors
from tests.scheduling.comparison import differences
from tests.scheduling.oracle import answered

MOST_NODES, MOST_PODS = 6, 10


def main() -> int:
    parser = argparse.ArgumentParser(description="gitbot's verdicts against kube-scheduler's.")
    parser.add_argument("--seeds", default="0:1000", metavar="FROM:TO")
    parser.add_argument("--record", type=int, default=0, metavar="PODS")
    parser.add_argument("--mutate", action="store_true")
    options = parser.parse_args()
    first, last = (int(text) for text in options.seeds.split(":"))
    program = build.build(["oracle"])["oracle"]
    make = mutations.scenario if options.mutate else scenarios.scenario
    pairs = answered(program, range(first, last), make)
    if options.record:
        vectors.FILE.parent.mkdir(exist_ok=True)
        vectors.FILE.write_bytes(vectors.write(small(pairs, options.record)))
        return 0
    judged = found = 0
    for scenario, result in pairs:
        judged += len(result["results"])
        for line in differences(scenario, result):
            found += 1
            print(line, flush=True)
    print(f"{judged} pods judged, {found} differences")
    return 1 if found else 0


def small(
    pairs: Iterator[tuple[dict[str, Any], dict[str, Any]]], pods: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Scenarios of few objects, until so many pods are judged."""
    for scenario, result in pairs:
        kinds = [item["kind"] for item in scenario["objects"]]
        few = kinds.count("Node") <= MOST_NODES and kinds.count("Pod") <= MOST_PODS
        if pods > 0 and few and result["results"]:
            pods -= len(result["results"])
            yield scenario, result


if __name__ == "__main__":
    sys.exit(main())
