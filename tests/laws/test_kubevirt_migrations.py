"""Whatever people, nodes and luck do, KubeVirt's own promises hold at every write."""

from dataclasses import dataclass
from itertools import cycle
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.kubernetes.objects import annotations_of, at, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.eviction import admit_eviction
from gitbot.kubevirt.limits import is_running
from gitbot.simulation.kubevirt.launchers import active_pods
from gitbot.simulation.kubevirt.reconcile_result import MIGRATION, VMI
from gitbot.simulation.kubevirt.virt_handler import HandlerTimes
from tests.unit.simulation.kubevirt.cluster import Cluster, Object

NODES = ("n1", "n2", "n3")
SPEC: Object = {
    "architecture": "amd64",
    "evictionStrategy": "LiveMigrate",
    "domain": {"cpu": {"cores": 1, "model": "host-model"}, "memory": {"guest": "1Gi"}},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that happens at a time in milliseconds, to a VM chosen by number."""

    at: int
    what: str
    vm: int


ACTS = st.builds(
    Act,
    at=st.integers(0, 60_000),
    what=st.sampled_from(["migrate", "migrate", "migrate", "cancel", "evict", "delete"]),
    vm=st.integers(0, 3),
)
FATES = st.sampled_from(["runs", "runs", "runs", "unschedulable", "crashes"])


class Watched(Cluster):
    """A cluster that is judged at every write."""

    def __init__(self, parallel: int, per_source: int) -> None:
        limits = {
            "parallelMigrationsPerCluster": parallel,
            "parallelOutboundMigrationsPerNode": per_source,
        }
        self.parallel, self.per_source = parallel, per_source
        super().__init__({"configuration": {"migrations": limits}}, namespace="shop")

    def _store(self, obj: Object, old: Object | None) -> None:
        super()._store(obj, old)
        running = [item for item in self.list(MIGRATION) if is_running(item)]
        assert len(running) <= self.parallel
        sources = [self.source_of(item) for item in running]
        assert all(sources.count(node) <= self.per_source for node in sources if node)
        for vmi in self.list(VMI):
            assert len(active_pods(self, vmi)) <= 2

    def source_of(self, migration: Object) -> str:
        vmi = self.objects.get((VMI, "shop", migration["spec"]["vmiName"]))
        state = at(vmi, "status", "migrationState", default={})
        if state.get("migrationUid") == migration["metadata"]["uid"]:
            return str(state.get("sourceNode", ""))
        return str(at(vmi, "status", "nodeName", default=""))


def started(made: Watched, fates: list[str], vms: int) -> None:
    for name in NODES:
        made.add({"kind": "Node", "metadata": {"name": name, "labels": {}}, "spec": {}})
    drawn = cycle(fates)

    def script(pod: Object) -> list[tuple[int, str, str]]:
        domain = annotations_of(pod)["kubevirt.io/domain"]
        here = at(made.objects[VMI, "shop", domain], "status", "nodeName", default="")
        node = next(name for name in NODES if name != here)
        fate = "runs" if not here else next(drawn)
        if fate == "unschedulable":
            return [(100, "unschedulable", "")]
        return [(100, "bind", node), (300, "running" if fate == "runs" else "failed", "")]

    made.pod_script = script
    for number in range(vms):
        metadata = {
            "name": f"vm{number}",
            "annotations": {},
            "finalizers": ["kubevirt.io/foregroundDeleteVirtualMachine"],
        }
        vmi = {"kind": VMI, "apiVersion": "kubevirt.io/v1", "metadata": metadata, "spec": SPEC}
        made.add({**vmi, "status": {"phase": "Pending"}})
    made.run_until(3_000)


def play(made: Watched, act: Act, number: int) -> None:
    vmi = made.objects.get((VMI, "shop", f"vm{act.vm}"))
    if vmi is None:
        return
    own = [m for m in made.list(MIGRATION) if m["spec"]["vmiName"] == name_of(vmi).name]
    match act.what:
        case "migrate":
            timeout = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
            metadata = {"name": f"m{number}", "annotations": {timeout: "10"}}
            spec = {"vmiName": name_of(vmi).name}
            made.create_migration({"metadata": metadata, "spec": spec})
        case "cancel":
            for migration in own:
                made.delete(MIGRATION, name_of(migration).name)
        case "delete":
            made.delete(VMI, name_of(vmi).name)
        case _:
            evict(made, vmi)


def evict(made: Watched, vmi: Object) -> None:
    for pod in active_pods(made, vmi):
        verdict: Any = admit_eviction(pod, vmi=vmi, kubevirt=made.list("KubeVirt")[0])
        for effect in verdict.effects:
            made.replace(dict(effect))
        return


@settings(max_examples=30)
@given(
    acts=st.lists(ACTS, max_size=15),
    fates=st.lists(FATES, min_size=1, max_size=10),
    parallel=st.integers(1, 3),
    per_source=st.integers(1, 2),
    copy=st.integers(0, 8),
    fails=st.booleans(),
)
def test_limits_hold_and_every_migration_ends(
    *, acts: list[Act], fates: list[str], parallel: int, per_source: int, copy: int, fails: bool
) -> None:
    made = Watched(parallel, per_source)
    reason = "memory never converged" if fails else ""
    made.times = lambda _: HandlerTimes(prepare=0, start=0, copy=copy, leave=1, fails=reason)
    started(made, fates, vms=4)
    for number, act in enumerate(sorted(acts, key=lambda item: item.at)):
        made.run_until(3_000 + act.at)
        play(made, act, number)
    made.run_until(900_000)
    unfinished = {name_of(m).name for m in made.list(MIGRATION) if not is_final(m)}
    # Evacuations that keep failing come back first and may starve everybody else's.
    assert not unfinished or any(name.startswith("kubevirt-") for name in unfinished)
    for vmi in made.list(VMI):
        homes = [at(pod, "spec", "nodeName") for pod in active_pods(made, vmi)]
        assert at(vmi, "status", "phase") == "Running"
        assert at(vmi, "status", "nodeName") in homes
        mine = [m for m in made.list(MIGRATION) if m["spec"]["vmiName"] == name_of(vmi).name]
        assert sum(is_final(item) for item in mine) <= 5
