"""What reading a large cluster costs, against the official client's typed objects.

5,000 nodes and 50,000 pods as the API server sends them (700 MB of JSON with managedFields), made
from a seed; a tenth of it unless `--full` is given (the peer alone then takes minutes and 8 GiB).
Both sides get the same bytes from the same files, each in a process of its own: gitbot through
the reading of its cluster port, page by page, with everything but the socket; the peer through
`ApiClient.deserialize`. Imports and types are made before the clock starts, on both sides.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
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


class Pages:
    """Stands where the transport stands: answers lists from the pages of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """The answer to a GET."""
        from gitbot.adapters.kubernetes.transport import Answer  # noqa: PLC0415 - one side only

        headers = {"date": "Sat, 29 Nov 2025 10:00:00 GMT"}
        body = b'{"metadata":{"resourceVersion":"90000001"},"items":[]}'
        if path == "/version":
            body = b'{"gitVersion":"v1.36.3"}'
        elif path == "/apis":
            body = b'{"groups":[]}'
        elif path in ("/api/v1/nodes", "/api/v1/pods"):
            token = (query or {}).get("continue", "token-0")
            kind = "Node" if path.endswith("nodes") else "Pod"
            body = (self._folder / f"{kind}-{token}.json").read_bytes()
        return Answer(status=200, body=body, headers=headers)


def _write(folder: Path, share: int) -> int:
    """Write the pages; returns their bytes."""
    total = 0
    nodes, pods = NODES // share, PODS // share
    for kind, count in (("Node", nodes), ("Pod", pods)):
        for number, page in enumerate(pages(kind, count, nodes=nodes)):
            (folder / f"{kind}-token-{number * PAGE}.json").write_bytes(page)
            total += len(page)
    return total


def _gitbot(folder: Path) -> Any:
    from gitbot.adapters.kubernetes.reading import read_cluster  # noqa: PLC0415 - one side only
    from gitbot.snapshot.decode import decode_page  # noqa: PLC0415
    from gitbot.snapshot.resources import LISTED  # noqa: PLC0415

    for resource in LISTED:
        decode_page(resource.kind, b'{"items":[]}')
    transport: Any = Pages(folder)
    yield
    yield read_cluster(transport, "bench")


def _peer(folder: Path) -> Any:
    from tests.bench.peers import official_client  # noqa: PLC0415 - one side only

    api = official_client.client()
    files = sorted(folder.glob("*.json"))
    yield
    yield official_client.deserialise(
        api, ((file.name.partition("-")[0], file.read_bytes()) for file in files)
    )


def child(side: str, folder: Path) -> None:
    """Read everything once; print seconds and added memory as JSON."""
    stages = (_gitbot if side == "gitbot" else _peer)(folder)
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


def _run(side: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.bench_ingest", "--child", side, str(folder)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(answer.stdout)
    return figures


def figures(*, share: int = 10) -> Iterator[Figure]:
    """Time and added memory of both sides; the best of some rounds, taken in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        megabytes = _write(folder, share) / 1e6
        rounds = ROUNDS if share > 1 else 1
        taken = [(_run("gitbot", folder), _run("peer", folder)) for _ in range(rounds)]
    size = f"ingest of {NODES // share} nodes, {PODS // share} pods, {megabytes:.0f} MB"
    for what, key, goal in (("wall", "wall", GOAL_TIME), ("processor", "cpu", GOAL_TIME)):
        ours, theirs = min(o[key] for o, _ in taken), min(p[key] for _, p in taken)
        yield Figure(
            what=f"{size}: {what} time",
            gitbot=ms(ours),
            peer=f"{ms(theirs)} (kubernetes)",
            ratio=theirs / ours,
            goal=goal,
        )
    ours, theirs = min(o["mib"] for o, _ in taken), min(p["mib"] for _, p in taken)
    yield Figure(
        what=f"{size}: memory added",
        gitbot=f"{ours:.0f} MiB",
        peer=f"{theirs:.0f} MiB",
        ratio=theirs / ours,
        goal=GOAL_MEMORY,
    )


def main() -> None:
    """Print the figures."""
    if "--child" in sys.argv:
        child(sys.argv[-2], Path(sys.argv[-1]))
    else:
        show(figures(share=1 if "--full" in sys.argv else 10))


if __name__ == "__main__":
    main()
