"""Run the oracle of tests/controlplane over random scenarios."""

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tests.controlplane.component import ROOMY
from tests.scheduling.scenarios import scenario

Object = dict[str, Any]
BATCH = 200


def answered(
    program: Path, seeds: Iterable[int], make: Callable[[int], Object] = scenario
) -> Iterator[tuple[Object, Object]]:
    """The scenario of each seed with the oracle's result. RuntimeError where the oracle fails."""
    left, environment = iter(seeds), {**ROOMY, **os.environ}
    while batch := list(islice(left, BATCH)):
        scenarios = [make(seed) for seed in batch]
        text = "\n".join(json.dumps(item) for item in scenarios)
        done = subprocess.run(
            [program], input=text, capture_output=True, text=True, env=environment, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"the oracle failed: {done.stderr.strip()}")
        results = [json.loads(line) for line in done.stdout.splitlines()]
        yield from zip(scenarios, results, strict=True)
