"""Whole commands against a synthetic API server: what a pass costs where nothing is to be done.

Six VMs and ten pods a node, 1.2 rules a node, objects as large as real ones; the ledger and the
forge are a bare repository beside. Each command is one process; the peer in the same run is
`gitbot snapshot`, which reads and packs the same cluster. 100 and 1,000 nodes; `--full` adds 5,000.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitbot.adapters.git.ledger_branch import BRANCH
from gitbot.simulation.http import write_kubeconfig
from tests.bench.bench_process import STARTER
from tests.bench.full_objects import full_objects
from tests.bench.large_cluster import write_rules
from tests.bench.synthetic_api import SyntheticApi
from tests.bench.table import Figure, ms, show

SIZES = (100, 1_000)
FULL = 5_000
GOAL_RECONCILE = 0.667  # at most 1.5 times `gitbot snapshot`
PEER: tuple[str, ...] = ("snapshot", "-o", "/dev/null")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("site", "--out", "../site"),
    ("get", "rules"),
    ("get", "nodes"),
    ("get", "vms"),
    ("calendar",),
    ("audit", "-o", "json"),
    ("plan", "-o", "json"),
    ("move", "vm/vm-000001", "-n", "team-00", "--away", "--dry-run"),
    ("apply",),
    ("reconcile",),
)
"""What is measured beside the peer. None finds anything to do."""

_NOT_KEPT = "PYTHONDONTWRITEBYTECODE"
_CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters: [{name: prod, timeZone: Europe/Berlin}]
  forge: {type: local, repository: origin, baseBranch: main}
  mode: Enforce
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one command took: processor and wall seconds, MiB at most, requests, bytes read."""

    seconds: float
    wall: float
    mib: float
    requests: int
    lists: int  # requests that began a list of pods
    sent: int
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A clone of a repository with rules, and the API server of its cluster."""

    tree: Path
    api: SyntheticApi

    def cost(self, *words: str) -> Cost:
        """Run `gitbot WORDS...` in the clone. Exit code 1 (findings) is an answer."""
        self.api.reset()
        began = time.monotonic()
        told = subprocess.run(
            [sys.executable, "-c", STARTER, sys.executable, "-m", "gitbot", *words],
            cwd=self.tree,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        code, seconds, kib = json.loads(told.stdout)
        if code not in (0, 1):
            raise RuntimeError(f"gitbot {' '.join(words)} ended with {code}: {told.stderr}")
        with self.api.changed:
            requests, sent = self.api.requests.total(), self.api.sent.total()
            lists = self.api.lists["Pod"]
        return Cost(
            seconds=seconds,
            wall=time.monotonic() - began,
            mib=kib / 1024,
            requests=requests,
            lists=lists,
            sent=sent,
            code=code,
        )

    @property
    def environment(self) -> dict[str, str]:
        """Compiled modules are kept, as where gitbot is installed: the first pass makes them."""
        kept = {name: text for name, text in os.environ.items() if name != _NOT_KEPT}
        return {
            **kept,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONPYCACHEPREFIX": str(self.tree.parent / "compiled"),
            "KUBECONFIG": str(self.tree.parent / "kubeconfig"),
        }


@contextmanager
def bench(nodes: int, *, ledger: Mapping[str, bytes] | None = None) -> Iterator[Bench]:
    """A cluster of that many nodes, after a first pass that published and recorded what is new.

    `ledger` are the files of the ledger before that pass.
    """
    with tempfile.TemporaryDirectory() as name, SyntheticApi(full_objects(nodes)) as api:
        folder = Path(name)
        tree = _repository(folder, rules=nodes * 6 // 5)
        if ledger is not None:
            push_ledger(folder / "origin.git", ledger)
        write_kubeconfig(folder / "kubeconfig", server=api.url, context="prod")
        found = Bench(tree=tree, api=api)
        found.cost("reconcile")
        yield found


def _repository(folder: Path, *, rules: int) -> Path:
    """A bare repository with rules, and a clone of it; returns the clone."""
    tree = folder / "tree"
    git("init", "-q", "--bare", "--initial-branch=main", str(folder / "origin.git"), at=folder)
    git("clone", "-q", str(folder / "origin.git"), str(tree), at=folder)
    git("config", "user.name", "ann", at=tree)
    git("config", "user.email", "ann@example.com", at=tree)
    (tree / ".gitbot.yaml").write_text(_CONFIGURATION)
    write_rules(tree, rules)
    git("add", ".", at=tree)
    git("commit", "-q", "-m", "Rules", at=tree)
    git("push", "-q", "origin", "HEAD:main", at=tree)
    return tree


def push_ledger(origin: Path, files: Mapping[str, bytes]) -> None:
    """Make the ledger's branch of a bare repository, in one commit."""
    head = f"commit refs/heads/{BRANCH}\ncommitter gitbot <gitbot@example.com> 1764000000 +0000\n"
    parts = [head.encode(), b"data 6\nLedger\n"]
    for path, data in files.items():
        parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
    command = ["git", f"--git-dir={origin}", "fast-import", "--quiet"]
    subprocess.run(command, input=b"".join(parts), check=True)


def git(*words: str, at: Path) -> None:
    """Git in a folder, as a person who is configured nowhere."""
    person = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
    subprocess.run(["git", *person, *words], cwd=at, check=True, capture_output=True)


def figures(*, full: bool = False) -> Iterator[Figure]:
    """Each command at each size beside the peer, and how its time grows."""
    taken: dict[tuple[str, ...], dict[int, float]] = {}
    for nodes in (*SIZES, *((FULL,) if full else ())):
        with bench(nodes) as found:
            peer = found.cost(*PEER)
            for words in (PEER, *COMMANDS):
                cost = peer if words is PEER else found.cost(*words)
                taken.setdefault(words, {})[nodes] = cost.seconds
                yield _row(words, nodes, cost, peer)
    for words, seconds in taken.items():
        few, many = min(seconds), max(seconds)
        power = math.log(seconds[many] / seconds[few]) / math.log(many / few)
        what = f"gitbot {' '.join(words)}, {few} to {many} nodes: the time grows with the power"
        yield Figure(what=what, gitbot=f"{power:.2f}")


def _row(words: tuple[str, ...], nodes: int, cost: Cost, peer: Cost) -> Figure:
    counts = f"{cost.wall:.1f} s wall, {cost.mib:.0f} MiB, {cost.requests} requests"
    is_goal = words == ("reconcile",) and nodes == SIZES[-1]
    return Figure(
        what=f"gitbot {words[0]} {words[1] if words[0] == 'get' else ''}".strip()
        + f", {nodes:,} nodes: {counts}, {cost.sent / 1e6:.1f} MB",
        gitbot=ms(cost.seconds),
        peer=f"{ms(peer.seconds)} (gitbot snapshot)",
        ratio=peer.seconds / cost.seconds,
        goal=GOAL_RECONCILE if is_goal else None,
    )


if __name__ == "__main__":
    show(figures(full="--full" in sys.argv))
