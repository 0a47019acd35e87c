"""Random rolling maintenances in real time: the estimated end against the real one."""

import random
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.kubernetes.objects import at, labels_of
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.simulation_settings import SimulationSettings
from tests.bench.bench_carried_out import STATE, Maintenance, Outcome
from tests.controlplane import crowd as crowds
from tests.controlplane.crowd import TIER, Crowd
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.installation import KubeVirt
from tests.controlplane.loop import LiveLoop
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import eventually

MIGRATION = "VirtualMachineInstanceMigration"
BANDWIDTH = 128 << 20  # as the configuration says, so that a guest of 4 GiB takes 32 s
LOOK = 10  # seconds between two passes
PASSES = 200
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters: [{name: CLUSTER, timeZone: UTC}]
  bandwidth: 128Mi
  proposals: {stabilize: PT0S}
  mode: Enforce
"""


class Technician:
    """Reboots each node that gitbot calls ready; `away` seconds later it is back."""

    def __init__(self, admin: Connection, kubelets: Kubelets, *, away: int) -> None:
        self._admin, self._kubelets, self._away = admin, kubelets, away
        self._begun: set[str] = set()
        self.returned: set[str] = set()
        self._timers: list[threading.Timer] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="technician", daemon=True)

    def _work(self) -> None:
        while not self._stop.wait(1):
            for node in self._admin.list(path_of(BY_KIND["Node"]))[0]:
                name = node["metadata"]["name"]
                if labels_of(node).get(STATE) == "ready" and name not in self._begun:
                    self._begun.add(name)
                    self._kubelets.hold(name)
                    timer = threading.Timer(self._away, self._give_back, [name])
                    self._timers.append(timer)
                    timer.start()

    def _give_back(self, node: str) -> None:
        self._kubelets.reboot(node)
        self.returned.add(node)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=10)
        for timer in self._timers:
            timer.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A seed, and how many nodes and VMs it draws."""

    seed: int
    nodes: int
    machines: int
    reboot: int = 0  # seconds; 0: drawn

    @property
    def maintenance(self) -> Maintenance:
        dice = random.Random(self.seed)
        lanes, reboot = dice.choice((1, 2)), self.reboot or dice.choice((30, 60))
        return Maintenance(seed=self.seed, full=0, lanes=lanes, reboot=reboot, label=TIER)


@pytest.fixture
def loop(gitbot_kubeconfig: Path, plane: ControlPlane, tmp_path: Path) -> LiveLoop:
    """gitbot with the real clock, and its own pace of pushes."""
    return LiveLoop(
        tmp_path,
        kubeconfig=gitbot_kubeconfig,
        name=plane.context,
        configuration=CONFIGURATION.replace("CLUSTER", plane.context),
        clock=SystemClock(),
    )


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(
            Scene(seed=0, nodes=4, machines=6, reboot=15),
            marks=pytest.mark.controlplane,
            id="small",
        ),
        *(
            pytest.param(
                Scene(seed=seed, nodes=6, machines=12), marks=pytest.mark.long, id=f"{seed}"
            )
            for seed in range(1, 5)
        ),
    ],
)
def test_the_estimated_end_is_true(
    scene: Scene,
    kubelets: Kubelets,
    namespace: str,
    kubevirt: KubeVirt,
    loop: LiveLoop,
) -> None:
    admin, case = kubevirt.admin, scene.maintenance
    crowd = crowds.draw(scene.seed, namespace=namespace, nodes=scene.nodes, machines=scene.machines)
    kubelets.add(*crowd.nodes)
    with kubevirt.without_controllers():
        crowds.load(admin, crowd)
    kubevirt.controllers.dials = SimulationSettings(bandwidth=BANDWIDTH)
    pods = path_of(BY_KIND["Pod"], namespace)
    eventually(lambda: all(at(pod, "status", "phase") == "Running" for pod in admin.list(pods)[0]))
    loop.push({"firmware.yaml": case.window, **crowd.intents()})
    with Technician(admin, kubelets, away=case.reboot) as technician:
        merged = carried_out(loop, technician, crowd)
    plans = loop.shell.ledger_store.read().plans.values()
    migrations = admin.list(path_of(BY_KIND[MIGRATION], namespace))[0]
    found = Outcome.of(plans, migrations, merged=merged)
    print(
        f"\n{scene.nodes} nodes, {scene.machines} VMs, {case.lanes} at once,"
        f" reboot {case.reboot} s:"
        f" {found.moves} moves of {merged} plans, estimated {found.planned} s,"
        f" really {found.real} s ({found.error:+.1%})"
    )
    assert technician.returned == {node["metadata"]["name"] for node in crowd.nodes}
    assert found.failed == 0
    assert found.moves >= scene.machines
    assert -0.35 < found.error < 0.1, found
    with kubevirt.without_controllers():
        crowds.clear(admin, namespace)


def carried_out(loop: LiveLoop, technician: Technician, crowd: Crowd) -> int:
    """Pass after pass until nothing is left to do; how many plans were merged."""
    merged = 0
    for _ in range(PASSES):
        result = loop.reconcile()
        pulls = loop.open_pulls()
        for pull in pulls:
            loop.merge(pull.number)
            merged += 1
        if result.did_nothing and not pulls and len(technician.returned) == len(crowd.nodes):
            break
        loop.clock.sleep(0 if pulls else LOOK)
    return merged
