"""A pass on a cluster that is followed ends as one that lists, whatever the streams do.

Virtual time runs ahead of the streams, so that almost every look is a little old: each conclusion
and each effect rests on what is read again.
"""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.kubernetes import FollowedKubernetesCluster, Transport, cluster_view
from gitbot.adapters.kubernetes.transport import HttpAnswer
from gitbot.errors import Bug, ClusterError, GitbotError
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.text.instants import parse_instant
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.simulation.port import SimulatedPort
from gitbot.workflows.apply import apply
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.watch import watch
from tests.contracts.cluster_scene import migration, running_pod
from tests.doubles.customapp import customapp
from tests.doubles.intents import REQUEST
from tests.faults.proxy import Proxy
from tests.faults.test_proxied import (
    PASSES,
    End,
    Scene,
    VirtualClock,
    end_of,
    scene,
    shell_of,
)
from tests.scenarios.loop import Loop

__all__ = ["scene"]

VMI, MIGRATION = "VirtualMachineInstance", "VirtualMachineInstanceMigration"
Streams = Callable[[Iterator[bytes]], Iterator[bytes]]


class Stream:
    """Lines that something before the API server changed."""

    def __init__(self, lines: Any, change: Streams) -> None:
        self._lines, self._change = lines, change

    def __iter__(self) -> Iterator[bytes]:
        return self._change(iter(self._lines))

    def cut(self) -> None:
        self._lines.cut()


class Streaming(Transport):
    """A transport whose streams are changed."""

    change: Streams = staticmethod(lambda lines: lines)

    def ask(self, path: str, query: Any, *, stream: bool = False) -> HttpAnswer:
        answer = super().ask(path, query, stream=stream)
        if answer.lines is None:
            return answer
        return replace(answer, lines=Stream(answer.lines, self.change))  # type: ignore[arg-type]


def silent(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Nothing comes."""
    for _ in lines:
        continue
    yield from ()


def late(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Each event comes when the third after it happened."""
    held: list[bytes] = []
    for line in lines:
        held.append(line)
        if len(held) > 3:
            yield held.pop(0)


def replayed(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line
        yield line


def swapped(lines: Iterator[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for line in lines:
        held.append(line)
        if len(held) == 2:
            yield from reversed(held)
            held.clear()


def halved(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Every second event is missing."""
    for number, line in enumerate(lines):
        if number % 2:
            yield line


def broken(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line
        raise ClusterError("the stream broke")


def expired(lines: Iterator[bytes]) -> Iterator[bytes]:
    for _ in lines:
        yield json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410}}).encode()


def good(lines: Iterator[bytes]) -> Iterator[bytes]:
    return lines


@contextmanager
def followed(
    folder: Path, proxy: str, face: str, clock: VirtualClock, change: Streams
) -> Iterator[RunContext]:
    shell = shell_of(folder, 0, proxy, clock)
    reading = Transport(
        kubeconfig=str(folder / "kubeconfig"), sleep=lambda seconds: clock.sleep(int(seconds))
    )
    direct = write_kubeconfig(folder / "direct", server=face, context="iberia")
    streaming = Streaming(kubeconfig=str(direct))
    streaming.change = change
    cluster = FollowedKubernetesCluster(
        name="iberia",
        transport=reading,
        streaming=streaming,
        say=lambda _: None,
        clock=clock.now,
    )
    with closing(cluster):
        yield replace(shell, cluster=cluster, followed=cluster)


def run(
    scene: Scene, folder: Path, change: Streams, *, number: int = 0, how: str = ""
) -> tuple[End, Proxy]:
    """Passes of one process until one does nothing."""
    shutil.copytree(scene.folder / "placement.git", folder / "placement.git")
    with ApiServer(copy.deepcopy(scene.cluster)) as face:
        clock = VirtualClock(face)
        with (
            Proxy(face.url, number=number, how=how, pause=clock.sleep) as proxy,
            followed(folder, proxy.url, face.url, clock, change) as shell,
        ):
            for _ in range(PASSES):
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


@pytest.mark.parametrize("change", [good, silent, late, replayed, swapped, halved, broken, expired])
def test_one_migration_and_the_same_end(
    scene: Scene, tmp_path: Path, change: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_view, "PATIENCE", 0.1)
    end, _ = run(scene, tmp_path, change)
    assert end.states == ("succeeded",)
    assert len(end.created) == 1


@dataclass
class Merging:
    """The cluster's time, in which a person merges during the second rest; `at` is when."""

    inner: VirtualClock
    merge: Callable[[], object]
    at: int = 0
    rests: int = 0

    def now(self) -> int:
        return self.inner.now()

    def sleep(self, seconds: int, /) -> None:
        self.rests += 1
        if self.rests == 2:
            self.at = self.now()
            self.merge()
        self.inner.sleep(seconds)


def test_migration_is_there_15_seconds_after_the_merge(tmp_path: Path) -> None:
    cluster = customapp(step=0, jumpbox=True)
    loop = Loop.start(tmp_path, cluster)
    pull = loop.open({"jump.yaml": REQUEST})
    loop.publish(pull.number)
    with ApiServer(cluster) as face:
        clock = Merging(VirtualClock(face), lambda: loop.merge(pull.number))

        def over() -> bool:
            return bool(cluster.list(MIGRATION)) or clock.rests > 100

        @contextmanager
        def opener() -> Iterator[RunContext]:
            with followed(tmp_path, face.url, face.url, clock.inner, good) as shell:
                yield replace(shell, clock=clock, interrupted=over)

        watch(
            opener,
            clock=clock,
            interrupted=over,
            every=300,
            on_pass=lambda _: None,
            on_trouble=lambda error, _: pytest.fail(str(error)),
        )
        (made,) = cluster.list(MIGRATION)
        assert parse_instant(made["metadata"]["creationTimestamp"]) - clock.at <= 15


def cordons(face: ApiServer) -> None:
    """Cordon every node but the node of the VM."""
    (vm,) = [each for each in face.cluster.list(VMI) if name_of(each).name == "jumpbox"]
    for node in face.cluster.list("Node"):
        if name_of(node).name != vm["status"]["nodeName"]:
            SimulatedPort(face.cluster).set_unschedulable(name_of(node).name, True, {})


def new_pods(face: ApiServer) -> None:
    """One on each node."""
    pods = [
        running_pod(f"new-{number}", name_of(node).name)
        for number, node in enumerate(face.cluster.list("Node"))
    ]
    face.cluster.load(pods)


def foreign_migration(face: ApiServer) -> None:
    """Another mover moves the VM."""
    made = migration("theirs", "jumpbox", "customapp")
    del made["spec"]["addedNodeSelector"]
    face.cluster.apply([made])


def migration_of_another_vm(face: ApiServer) -> None:
    """It takes a slot, and only the migrations show it so far."""
    face.cluster.load([migration("elsewhere", "another", "customapp")])


def restarted(face: ApiServer) -> None:
    """The VM has another UID."""
    face.cluster.api.delete(VMI, ("customapp", "jumpbox"))
    face.cluster.settle()


@pytest.mark.parametrize(
    "happens", [cordons, new_pods, foreign_migration, migration_of_another_vm, restarted]
)
def test_nothing_is_sent_on_a_look_that_does_not_show_what_happened(
    scene: Scene, tmp_path: Path, happens: Callable[[ApiServer], None]
) -> None:
    """It happens after the first look has been made, and the streams tell of it."""
    looks: list[ClusterSnapshot] = []
    sent_after: list[int] = []
    shutil.copytree(scene.folder / "placement.git", tmp_path / "placement.git")
    with ApiServer(copy.deepcopy(scene.cluster)) as face:

        def looked(snapshot: ClusterSnapshot) -> None:
            looks.append(snapshot)
            if len(looks) == 1:
                with face.lock:
                    happens(face)

        clock = VirtualClock(face)
        with followed(tmp_path, face.url, face.url, clock, good) as shell:
            create = shell.cluster.create_migration

            def created(*what: Any, **more: Any) -> KubernetesObject:
                sent_after.append(len(looks))
                return create(*what, **more)

            shell.cluster.create_migration = created  # type: ignore[method-assign]
            apply(shell, on_look=looked)
    assert len(looks) > 1
    assert 1 not in sent_after
