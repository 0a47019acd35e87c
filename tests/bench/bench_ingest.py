"""What reading a large cluster costs, against the official client's typed objects.

5,000 nodes and 50,000 pods as the API server sends them (700 MB of JSON with managedFields), made
from a seed; a tenth of it unless `--full` is given (the peer alone then takes minutes and 8 GiB).
Both sides get the same bytes, each in a process of its own: gitbot through the reading of its
cluster port, with everything but the socket; the peer through `ApiClient.deserialize`. Imports and
types are made before, on both sides. Time is taken with all bytes in memory before the clock
starts; memory in a run of its own where each page is read when it is its turn, and counts.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.bench.api_cluster import PAGE, pages
from tests.bench.table import Figure, ms, show

NODES, PODS = 5_000, 50_000
ROUNDS = 3
GOAL_TIME, GOAL_MEMORY = 50, 40


def memory(field: str) -> float:
    """VmRSS (now) or VmHWM (at most so far) of this process in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


Page = Callable[[str], bytes]


def _in_memory(folder: Path) -> Page:
    return {file.name: file.read_bytes() for file in folder.glob("*.json")}.__getitem__


def _from_disk(folder: Path) -> Page:
    return lambda name: (folder / name).read_bytes()


class Pages:
    """Stands where the transport stands: answers lists from the pages of a folder."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def read(self, path: str, query: Mapping[str, str] | None = None, **_: object) -> Any:
        """The answer to a GET."""
        from gitbot.adapters.kubernetes.transport import HttpAnswer  # noqa: PLC0415 - one side only

        headers = {"date": "Sat, 29 Nov 2025 10:00:00 GMT"}
        body = b'{"metadata":{"resourceVersion":"90000001"},"items":[]}'
        if path == "/version":
            body = b'{"gitVersion":"v1.36.3"}'
        elif path == "/apis":
            body = b'{"groups":[]}'
        elif path in ("/api/v1/nodes", "/api/v1/pods"):
            token = (query or {}).get("continue", "token-0")
            kind = "Node" if path.endswith("nodes") else "Pod"
            body = self._page(f"{kind}-{token}.json")
        return HttpAnswer(status=200, body=body, headers=headers)


def _write(folder: Path, share: int) -> int:
    """Write the pages; returns their bytes."""
    total = 0
    nodes, pods = NODES // share, PODS // share
    for kind, count in (("Node", nodes), ("Pod", pods)):
        for number, page in enumerate(pages(kind, count, nodes=nodes)):
            (folder / f"{kind}-token-{number * PAGE}.json").write_bytes(page)
            total += len(page)
    return total


def _gitbot(page: Page, _names: list[str]) -> Iterator[Any]:
    from gitbot.adapters.kubernetes.snapshot_reader import read_cluster  # noqa: PLC0415 - one side only
    from gitbot.snapshot.list_pages import KindReader  # noqa: PLC0415
    from gitbot.snapshot.resources import LISTED  # noqa: PLC0415

    for resource in LISTED:
        KindReader(resource.kind)
    transport: Any = Pages(page)
    yield None
    yield read_cluster(transport, "bench")


def _peer(page: Page, names: list[str]) -> Iterator[Any]:
    from tests.bench.peers import official_client  # noqa: PLC0415 - one side only

    api = official_client.client()
    yield None
    yield official_client.deserialise(api, ((name.partition("-")[0], page(name)) for name in names))


SIDES = {"gitbot": _gitbot, "peer": _peer}


def child(side: str, folder: Path, *, timed: bool) -> None:
    """Read everything once; print seconds and added memory as JSON."""
    page = _in_memory(folder) if timed else _from_disk(folder)
    stages = SIDES[side](page, sorted(file.name for file in folder.glob("*.json")))
    next(stages)
    before = memory("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    kept = next(stages)
    figures = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "mib": memory("VmHWM") - before,
    }
    print(json.dumps(figures))
    del kept


def _run(side: str, folder: Path, what: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.bench_ingest", "--child", what, side, str(folder)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(answer.stdout)
    return figures


def figures(*, share: int = 10) -> Iterator[Figure]:
    """Time and added memory of both sides; the best of some rounds, taken in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        megabytes = _write(folder, share) / 1e6
        rounds = ROUNDS if share > 1 else 1
        timed = [[_run(side, folder, "--timed") for side in SIDES] for _ in range(rounds)]
        added = [_run(side, folder, "--memory")["mib"] for side in SIDES]
    size = f"ingest {NODES // share} nodes, {PODS // share} pods, {megabytes:.0f} MB"
    for what, key in (("wall time", "wall"), ("processor time", "cpu")):
        ours, theirs = (min(taken[side][key] for taken in timed) for side in (0, 1))
        yield Figure(
            what=f"{size}: {what}",
            gitbot=ms(ours),
            peer=f"{ms(theirs)} (kubernetes)",
            ratio=theirs / ours,
            goal=GOAL_TIME,
        )
    yield Figure(
        what=f"{size}: memory added",
        gitbot=f"{added[0]:.0f} MiB",
        peer=f"{added[1]:.0f} MiB (kubernetes)",
        ratio=added[1] / added[0],
        goal=GOAL_MEMORY,
    )


def main() -> None:
    """Print the figures."""
    if "--child" in sys.argv:
        what, side, folder = sys.argv[-3:]
        child(side, Path(folder), timed=what == "--timed")
    else:
        show(figures(share=1 if "--full" in sys.argv else 10))


if __name__ == "__main__":
    main()
