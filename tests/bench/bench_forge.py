"""What the clusters of one repository cost its forge: requests, and Git's requests and pushes.

A GitHub on 127.0.0.1 counts. Each cluster is a simulated one, and has ports of its own that stay
open, as its Deployment has. A look is what a waiting process does every few seconds. 50 clusters
take some minutes: `--full`.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges import github as adapter
from gitbot.model.ledger.events import MoveState
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.snapshot import write_snapshot
from gitbot.wiring.workspace import open_shell, open_workspace
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.ledger.writer import Journal
from gitbot.workflows.watch import reconcile
from tests.bench.table import Figure, show
from tests.contracts.cluster_scene import running_pod
from tests.doubles.customapp import customapp
from tests.doubles.github import smart_http
from tests.doubles.github.calls import Answer
from tests.doubles.github.core import Limits
from tests.doubles.github.scene import REPOSITORY, Scene
from tests.doubles.intents import HEAD, REQUEST

CLUSTERS = (1, 10)
FULL = 50
EVERY = 300  # seconds between passes
LOOK = 5  # seconds between looks
DAY = 86_400
OPEN = 3_600  # seconds until a process opens everything again, and knows no ETag
MOVES = 10  # requests a day and cluster, on a busy day

Asked = Counter[str]
"""Requests to the API (`sent`), those that GitHub counts (`counted`), Git's (`git`), `pushes`."""


@dataclass(slots=True, kw_only=True)
class SharedClock:
    """The time of the forge and of all clusters."""

    scene: Scene
    faces: list[ApiServer] = field(default_factory=list)

    def now(self) -> int:
        return self.scene.clock.now()

    def sleep(self, seconds: int, /) -> None:
        self.scene.clock.sleep(max(1, seconds))
        for face in self.faces:
            with face.lock:
                face.cluster.advance(self.now() - face.cluster.now())


@dataclass(slots=True, kw_only=True)
class Fleet:
    """Processes of all clusters of one repository, and the forge that counts in `asked`."""

    scene: Scene
    clock: SharedClock
    asked: Asked
    opened: ExitStack
    kubeconfigs: dict[str, Path]
    shells: dict[str, RunContext] = field(default_factory=dict)

    def open_again(self) -> None:
        """As every hour, and where a pod is replaced."""
        self.opened.close()
        for name, file in self.kubeconfigs.items():
            workspace = self.opened.enter_context(
                open_workspace(Path.cwd(), kubeconfig=str(file), clock=self.clock)
            )
            self.shells[name] = open_shell(workspace, name)

    def passes(self) -> Asked:
        """One pass of each, in turn, after pods have changed as they always do."""
        self.clock.sleep(EVERY)
        for face in self.clock.faces:
            with face.lock:
                face.cluster.load([running_pod(f"pod-{self.clock.now()}", "kni-worker2")])
        before = self.asked.copy()
        for shell in self.shells.values():
            reconcile(shell, pack=write_snapshot, every_pull=True)
        return self.asked - before

    def looks(self) -> Asked:
        """One look of each."""
        before = self.asked.copy()
        for shell in self.shells.values():
            Journal(shell.ledger_store, shell.clock).read()
            base_head(shell)
        return self.asked - before

    def request(self) -> Asked:
        """A person's request for the first cluster: shown, merged, carried out, reported."""
        before = self.asked.copy()
        self.scene.commit("jump", {"intents/c0/jump.yaml": REQUEST})
        body = {"head": "jump", "base": "main", "title": "Jump"}
        number = self.scene.ask("bob", "POST", "~/pulls", body)["number"]
        self.passes()
        self.clock.sleep(60)
        head = self.scene.ask("bob", "GET", f"~/pulls/{number}")["head"]["sha"]
        self.scene.ask("bob", "PUT", f"~/pulls/{number}/merge", {"sha": head})
        self.passes()
        events = self.shells["c0"].ledger_store.read().requests("c0")
        if not events or events[-1].state is not MoveState.SUCCEEDED:
            raise RuntimeError(f"the request was not carried out: {events[-1:]}")
        return self.asked - before


def _settings(clusters: int) -> str:
    names = "\n".join(f"  - {{name: c{number}}}" for number in range(clusters))
    return f"""{HEAD}kind: Configuration
metadata: {{name: default}}
spec:
  clusters:
{names}
  forge: {{type: github, repository: {REPOSITORY}, baseBranch: main}}
  mode: Enforce
"""


@contextmanager
def fleet(clusters: int) -> Iterator[Fleet]:
    """After two passes of each, which published and recorded what is new."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scene = Scene.make(folder)
        scene.clock.present = SystemClock().now()
        asked = stack.enter_context(_counting(scene))
        stack.enter_context(scene.server)
        scene.commit("main", {".gitbot.yaml": _settings(clusters)})
        clock = SharedClock(scene=scene)
        stack.callback(setattr, adapter, "SystemClock", SystemClock)
        setattr(adapter, "SystemClock", lambda: clock)  # noqa: B010 - it reads the machine's
        kubeconfigs = {}
        for name in (f"c{number}" for number in range(clusters)):
            cluster = customapp(step=2, jumpbox=True, start_time=scene.clock.now())
            face = stack.enter_context(ApiServer(cluster))
            clock.faces.append(face)
            kubeconfigs[name] = write_kubeconfig(folder / name, server=face.url, context=name)
        code, said = scene.git("clone", "-q", "@", "work", token=scene.tokens["alice"])
        if code:
            raise RuntimeError(said)
        for key, value in (("user.name", "Alice"), ("user.email", "alice@example.org")):
            subprocess.run(["git", "config", key, value], cwd=folder / "work", check=True)
        os.environ |= {
            "GITHUB_TOKEN": scene.tokens["alice"],
            "GITHUB_API_URL": scene.server.api,
        }
        stack.enter_context(chdir(folder / "work"))
        found = Fleet(
            scene=scene,
            clock=clock,
            asked=asked,
            opened=stack.enter_context(ExitStack()),
            kubeconfigs=kubeconfigs,
        )
        found.open_again()
        found.passes()
        found.passes()
        yield found


@contextmanager
def _counting(scene: Scene) -> Iterator[Asked]:
    """What alice's token asks for: all processes use it."""
    asked: Asked = Counter()
    serve, handle = smart_http.serve, scene.github.handle
    give_back = Limits.give_back

    def git(*what: Any, **more: Any) -> Answer:
        asked["git"] += 1
        asked["pushes"] += str(what[1]).endswith("/git-receive-pack")
        return serve(*what, **more)

    def api(request: Any) -> Answer:
        asked.update(("sent", "counted"))
        return handle(request)

    def free(limits: Limits, token: str) -> None:
        asked["counted"] -= 1
        give_back(limits, token)

    smart_http.serve = git
    scene.github.handle = api  # type: ignore[method-assign]
    Limits.give_back = free  # type: ignore[method-assign,assignment]
    try:
        yield asked
    finally:
        smart_http.serve = serve
        Limits.give_back = give_back  # type: ignore[method-assign]


def figures(*, full: bool = False) -> Iterator[Figure]:
    """A pass, an hour's first pass, a request, and days, for each number of clusters."""
    for clusters in (*CLUSTERS, *((FULL,) if full else ())):
        with fleet(clusters) as found:
            quiet = found.passes()
            found.looks()  # it fetches what the others have pushed meanwhile
            looks = found.looks()
            request = found.request() - quiet - quiet
            found.passes()
            found.open_again()
            fresh = found.passes()
            day = _times(quiet, DAY // EVERY - DAY // OPEN) + _times(fresh, DAY // OPEN)
            day += _times(looks, DAY // LOOK)
            busy = day + _times(request, MOVES * clusters)
            told = {
                "a quiet pass": quiet,
                "the first pass of an hour": fresh,
                "a request, shown to carried out": request,
                "looks of a minute": _times(looks, 60 // LOOK),
                "a quiet day": day,
                f"a day with {MOVES} requests a cluster": busy,
            }
        for what, counts in told.items():
            shown = f"{counts['sent']:,} sent, Git {counts['git']:,}, pushes {counts['pushes']:,}"
            yield Figure(
                what=f"{clusters} clusters, {what}: {shown}; requests that count",
                gitbot=f"{counts['counted']:,}",
            )


def _times(asked: Asked, times: int) -> Asked:
    return Counter({what: count * times for what, count in asked.items()})


if __name__ == "__main__":
    show(figures(full="--full" in sys.argv))
