"""The real client, real Git and a proxy that does one thing wrong at one call: the end is the same.

Every answer that an API server, or something before it, may give: 400 to 504, truncated, HTML,
another kind, empty lists, connections reset before and after, answers from before, slow ones.
"""

from __future__ import annotations

import copy
import shutil
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pytest

from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.errors import Bug, GitbotError
from gitbot.ports.clock import Clock
from gitbot.published.ledger_lines import verify
from gitbot.simulation.building import namespace
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.apply import apply
from gitbot.workflows.core.context import RunContext
from tests.doubles.customapp import customapp
from tests.doubles.intents import REQUEST
from tests.faults.proxy import FAULTS, Proxy
from tests.scenarios.loop import Loop

PASSES = 8
DECISIVE = ("nodes", "pods", "instances", "migrations", "configmaps", "version")
REFUSALS = ("400", "403", "405", "422")  # of a create: no attempt is left


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A merged request on a small cluster, and its repository; to be copied."""

    cluster: SimulatedCluster
    folder: Path


@lru_cache(maxsize=1)
def _cluster() -> SimulatedCluster:
    cluster = customapp(step=0, jumpbox=True)
    cluster.apply([namespace("gitbot")])  # for the anchor of the ledger
    cluster.settle()
    return cluster


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("scene")
    cluster = copy.deepcopy(_cluster())
    loop = Loop.start(folder, cluster)
    pull = loop.open({"jump.yaml": REQUEST})
    loop.publish(pull.number)
    loop.merge(pull.number)
    return Scene(cluster=cluster, folder=folder)


class VirtualClock:
    """The cluster's time; who sleeps lets it pass."""

    def __init__(self, face: ApiServer) -> None:
        self.face = face

    def now(self) -> int:
        with self.face.lock:
            return self.face.cluster.now()

    def sleep(self, seconds: int, /) -> None:
        with self.face.lock:
            self.face.cluster.advance(max(1, seconds))


@dataclass(frozen=True, kw_only=True)
class End:
    created: tuple[str, ...]
    states: tuple[str, ...]
    where: str
    calls: int
    hit: str = ""

    def same_as(self, other: End) -> bool:
        return replace(self, calls=0, hit="") == replace(other, calls=0, hit="")


def run(scene: Scene, folder: Path, *, number: int = 0, how: str = "") -> tuple[End, Proxy]:
    """Passes until one does nothing, the first one behind the proxy's fault."""
    shutil.copytree(scene.folder / "placement.git", folder / "placement.git")
    with ApiServer(copy.deepcopy(scene.cluster)) as face:
        clock = VirtualClock(face)
        with Proxy(face.url, number=number, how=how, pause=clock.sleep) as proxy:
            for count in range(PASSES):
                shell = shell_of(folder, count, proxy.url, clock)
                try:
                    result = apply(shell)
                except Bug:
                    raise
                except GitbotError:
                    clock.sleep(61)
                    continue
                if result.did_nothing and not (result.stop or result.waiting):
                    break
                clock.sleep(61)
            else:
                raise AssertionError(f"{how} at call {number}: it does not come to rest")
            return end_of(shell, face, proxy), proxy


def shell_of(folder: Path, count: int, url: str, clock: Clock) -> RunContext:
    """A new process, but for its start."""
    bare = folder / "placement.git"
    repository = GitRepository.clone(str(bare), folder / f"gitbot{count}.git")
    path = write_kubeconfig(folder / "kubeconfig", server=url, context="iberia")
    transport = Transport(kubeconfig=str(path), sleep=lambda seconds: clock.sleep(int(seconds)))
    return RunContext(
        cluster_name="iberia",
        base_branch="main",
        repository=repository,
        forge=LocalForge(bare, clock=clock),
        ledger_store=GitLedgerStore(repository),
        cluster=KubernetesCluster(transport=transport),
        clock=clock,
        read_base=base_branch(repository, name="main", cluster="iberia").at,
        executor=f"process-{count}",
    )


def end_of(shell: RunContext, face: ApiServer, proxy: Proxy) -> End:
    ledger = shell.ledger_store.read()
    assert not verify(ledger.events)
    moves = ledger.requests("iberia")
    vm = face.cluster.get("VirtualMachineInstance", "jumpbox", "customapp")
    return End(
        created=tuple(proxy.created),
        states=tuple(dict.fromkeys(str(event.state) for event in moves))[-1:],
        where=str((vm or {}).get("status", {}).get("nodeName", "")),
        calls=len(proxy.calls),
        hit=proxy.hit,
    )


def check(end: End, clean: End, how: str) -> None:
    if how in REFUSALS and end.hit.startswith("POST") and "migrations" in end.hit:
        assert (end.created, end.states) == ((), ("failed",))
    else:
        assert end.same_as(clean)


def cases(proxy: Proxy, *, every: int) -> list[tuple[int, str]]:
    """Each kind of call with each fault, calls of one kind in turn; other lists with some.

    `every` 0: each call with each fault. Those that would not change the answer are left out.
    """
    if not every:
        numbers = range(1, len(proxy.calls) + 1)
        return [
            (number, how) for number in numbers for how in FAULTS if proxy.can_strike(number, how)
        ]
    kinds: dict[str, list[int]] = {}
    for number, call in enumerate(proxy.calls, start=1):
        kinds.setdefault(call.kind, []).append(number)
    found = [
        (able[index % len(able)], how)
        for place, (kind, numbers) in enumerate(kinds.items())
        for index, how in enumerate(FAULTS)
        if "GET" not in kind or any(word in kind for word in DECISIVE) or (place + index) % 7 == 0
        if (able := [number for number in numbers if proxy.can_strike(number, how)])
    ]
    return found[::every]


def test_whatever_goes_wrong_at_a_call_the_end_is_the_same(scene: Scene, tmp_path: Path) -> None:
    _all(scene, tmp_path, every=61)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_fifth_of_all_faults_at_all_kinds_of_calls(scene: Scene, tmp_path: Path) -> None:
    _all(scene, tmp_path, every=5)


@pytest.mark.long
@pytest.mark.timeout(14_400)
def test_each_fault_at_each_call(scene: Scene, tmp_path: Path) -> None:
    _all(scene, tmp_path, every=0)


def _all(scene: Scene, folder: Path, *, every: int) -> None:
    (folder / "clean").mkdir()
    clean, proxy = run(scene, folder / "clean")
    assert clean.states == ("succeeded",)
    assert len(clean.created) == 1
    for number, how in cases(proxy, every=every):
        place = folder / f"{number} {how}"
        place.mkdir()
        end, _ = run(scene, place, number=number, how=how)
        assert end.hit, (number, how)
        try:
            check(end, clean, how)
        except AssertionError as error:
            raise AssertionError(f"{how} at call {number}, {end.hit}: {end}") from error
        shutil.rmtree(place)
