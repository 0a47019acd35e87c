"""Recorded days of KubeVirt's own controllers, lived again by the reconcilers on virtual time.

A script plays what was not KubeVirt: people, the scheduler's verdicts and the kubelet, as recorded.
Compared are the phases of every migration in order, answers, what is left at the end, Events,
and how many migrations ran at once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from typing import Any

import pytest

from gitbot.kubevirt.boot import BootTimes
from gitbot.kubevirt.edits import with_value
from gitbot.kubevirt.eviction import admit_eviction
from gitbot.kubevirt.handler import HandlerTimes, Hang
from gitbot.kubevirt.limits import limits_of
from gitbot.kubevirt.reconcile import MIGRATION, VMI, Update
from gitbot.kubevirt.verdicts import Admitted, Refused
from gitbot.model.objects import annotations_of, at, name_of, uid_of
from tests.unit.kubevirt.cluster import Cluster, Object, hang_of
from tests.unit.kubevirt.recordings import recorded

SCENARIOS: dict[str, Any] = recorded("traces")["scenarios"]
NODES: dict[str, dict[str, str]] = recorded("traces")["nodes"]
LEFT_OUT = {
    "race-pinned": "creates at the same instant pass admission together; see test_stories.py",
    "virt-api-down": "failing webhooks are the API server's part",
}
_DRAIN = "kubectl drain w1 starts"


class Replay:
    """One scenario on a Cluster."""

    def __init__(self, name: str) -> None:
        self.scenario = SCENARIOS[name]
        self.cluster = Cluster(self.scenario["kubevirt"], namespace=f"t-{name}")
        self.released: set[str] = set()
        self.answers: list[tuple[str, bool, Any, Any]] = []
        self.cluster.times = self.times
        self.cluster.boot = self.boot
        self.cluster.pod_script = self.pod_script
        for node in self.scenario["nodes"]:
            metadata = {"name": node, "labels": NODES[node]}
            self.cluster.add({"kind": "Node", "metadata": metadata, "spec": {}})
        for item in sorted(self.scenario["initial"], key=lambda item: order(item["kind"])):
            self.cluster.add(self.stored(item))
        self.cluster.run_until(0)
        self.cluster.phases = {}
        self.cluster.events = set()

    def stored(self, item: Object) -> Object:
        kind, name, state = item["kind"], item["name"], item["state"]
        metadata: Object = {"name": name}
        metadata |= {k: state[k] for k in ("labels", "annotations", "finalizers") if k in state}
        metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
        made = {"kind": kind, "apiVersion": "kubevirt.io/v1", "metadata": metadata}
        match kind:
            case "VirtualMachineInstance":
                return {**made, **self.instance(name, metadata, state)}
            case "Pod":
                domain = metadata["labels"]["vmi.kubevirt.io/id"]
                metadata["annotations"] = {"kubevirt.io/domain": domain}
                base = f"virt-launcher-{domain}-p"
                self.cluster.names[base] = self.cluster.names.get(base, 0) + 1
                spec = {
                    "nodeName": state.get("nodeName", ""),
                    "nodeSelector": state.get("nodeSelector") or {},
                    "containers": [{"name": "compute"}],
                }
                return {**made, "spec": spec, "status": {"phase": state["phase"]}}
            case "VirtualMachineInstanceMigration":
                status = {k: state[k] for k in ("phase", "migrationState") if k in state}
                return {**made, "spec": state["spec"], "status": status}
            case "VirtualMachine":
                spec = {"runStrategy": "Always", "template": {"spec": vmi_spec("None")}}
                status = {"printableStatus": "Running", "runStrategy": "Always"}
                return {**made, "spec": spec, "status": status}
            case _:
                return {**made, "spec": {"hard": state["hard"]}}

    def instance(self, name: str, metadata: Object, state: Object) -> Object:
        kept = ("phase", "nodeName", "migrationState", "evacuationNodeName")
        status: Object = {key: state[key] for key in kept if key in state}
        conditions = state.get("conditions") or {}
        status["conditions"] = [{"type": kind, **rest} for kind, rest in conditions.items()]
        status |= {"runtimeUser": 107, "machine": {"type": "q35"}}
        if self.scenario["dials"]["namespace"].get("selinux", "none"):
            status["selinuxContext"] = "none"
        owner = self.cluster.objects.get(("VirtualMachine", self.cluster.namespace, name))
        if owner is not None:
            reference = {"kind": "VirtualMachine", "name": name, "uid": uid_of(owner)}
            metadata["ownerReferences"] = [reference]
        return {"spec": vmi_spec(state.get("evictionStrategy", "None")), "status": status}

    # -- what the handlers and the kubelet were told

    def dials(self, vmi: Object) -> Object:
        uid = at(vmi, "status", "migrationState", "migrationUid")
        named = [m for m in self.cluster.list(MIGRATION) if uid_of(m) == uid]
        name = name_of(named[0]).name if named else ""
        dials = {**self.scenario["dials"]["namespace"]}
        dials |= self.scenario["dials"]["vmim"].get(name, {})
        if name in self.released:
            dials.pop("hang", None)
        return dials

    def times(self, vmi: Object) -> HandlerTimes:
        dials = self.dials(vmi)
        return HandlerTimes(
            prepare=0,
            start=0,
            copy=round(dials.get("duration", 1)),
            settle=0,
            leave=1,
            fails=dials.get("fail", ""),
            hangs=hang_of(dials) if dials else Hang.NEVER,
        )

    def boot(self, vmi: Object) -> BootTimes:
        dials = self.scenario["dials"]["vmi"].get(name_of(vmi).name, {})
        movable = "True" if dials.get("migratable", True) else "False"
        return BootTimes(boot=0, conditions={"LiveMigratable": (movable, "", "")})

    def pod_script(self, pod: Object) -> list[tuple[int, str, str]]:
        script = self.scenario["pods"].get(name_of(pod).name, [])
        return [(int(delay * 1000), what, text) for delay, what, text in script]

    # -- what people did

    def run(self) -> None:
        for step in self.scenario["steps"]:
            self.cluster.run_until(int(step["t"] * 1000))
            verdict = self.do(step["do"], step)
            if "ok" in step:
                refused = isinstance(verdict, Refused)
                code = verdict.code if isinstance(verdict, Refused) else None
                message = verdict.message if isinstance(verdict, Refused) else None
                self.answers.append((step["do"], not refused, code, message))
        self.cluster.run_until(int(self.scenario["end"] * 1000) + 3000)

    def do(self, text: str, step: Object) -> Any:
        words = text.split()
        match words[:2]:
            case ["create", kind]:
                if kind == MIGRATION:
                    return self.cluster.create_migration(step["object"])
                return self.create_instance(words[2])
            case ["delete", kind]:
                return self.cluster.delete(kind, words[2])
            case ["remove", _]:
                return self.remove(words[2])
            case ["evict", _]:
                return self.evict(words[2])
            case ["handler", "of"]:
                self.released.add(words[2])
                return self.wake()
            case ["kubectl", _] if text == _DRAIN:
                return self.drain("w1")
            case _:
                return self.edit(text, words)

    def edit(self, text: str, words: list[str]) -> None:
        """Changes of one field. Cordons and node labels reach only the scheduler: played."""
        timeout = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
        taint = {"key": "kubevirt.io/drain", "effect": "NoSchedule"}
        key, _, value = words[-1].partition("=")
        edits: dict[str, tuple[str, str, Any, tuple[str, ...]]] = {
            "annotate": (MIGRATION, words[1], value or key, ("metadata", "annotations", timeout)),
            "handler sets": (VMI, "vm1", "none", ("status", "selinuxContext")),
            "patch VM": ("VirtualMachine", "vm1", key, ("spec", "runStrategy")),
            "raise quota": ("ResourceQuota", "q", "3", ("spec", "hard", "pods")),
            "taint": ("Node", words[1], [taint], ("spec", "taints")),
            "label VMI": (
                VMI,
                words[2] if len(words) > 2 else "",
                value,
                ("metadata", "labels", key),
            ),
        }
        for start, (kind, name, new, path) in edits.items():
            if text.startswith(start):
                obj = self.cluster.objects[kind, self.where(kind), name]
                self.cluster.replace(with_value(obj, new, *path))

    def where(self, kind: str) -> str:
        return "" if kind == "Node" else self.cluster.namespace

    def wake(self) -> None:
        for vmi in self.cluster.list(VMI):
            self.cluster._wake_vmi(name_of(vmi).name)

    def remove(self, name: str) -> None:
        """The VMI and its pods vanish: the recorder's stand-in for a lost namespace."""
        namespace = self.cluster.namespace
        self.cluster.remove((VMI, namespace, name))
        for pod in self.cluster.list("Pod"):
            if annotations_of(pod)["kubevirt.io/domain"] == name:
                self.cluster.remove(("Pod", namespace, name_of(pod).name))

    def create_instance(self, name: str) -> None:
        made = {"kind": VMI, "apiVersion": "kubevirt.io/v1", "metadata": {"name": name}}
        finalizers = ["kubevirt.io/foregroundDeleteVirtualMachine"]
        made["metadata"] = {"name": name, "finalizers": finalizers}
        self.cluster.add({**made, "spec": vmi_spec("None"), "status": {"phase": "Pending"}})

    def evict(self, name: str) -> Admitted | Refused:
        namespace = self.cluster.namespace
        pod = self.cluster.objects["Pod", namespace, name]
        domain = annotations_of(pod)["kubevirt.io/domain"]
        descheduled = self.scenario["about"].startswith("Descheduler") or domain == "d1"
        verdict = admit_eviction(
            pod,
            vmi=self.cluster.objects.get((VMI, namespace, domain)),
            kubevirt=self.cluster.list("KubeVirt")[0],
            annotations={"requested-by": "sigs.k8s.io/descheduler"} if descheduled else {},
        )
        for effect in verdict.effects:
            assert isinstance(effect, Update)
            self.cluster.replace(dict(effect.object))
        if isinstance(verdict, Admitted):
            self.cluster.delete("Pod", name)
        return verdict

    def drain(self, node: str) -> None:
        on_node = [pod for pod in self.cluster.list("Pod") if at(pod, "spec", "nodeName") == node]
        for pod in on_node:
            self.evict(name_of(pod).name)
        if on_node:
            self.cluster.after(5000, lambda: self.drain(node))


def order(kind: str) -> int:
    kinds = ("VirtualMachine", VMI, "Pod", MIGRATION)
    return kinds.index(kind) if kind in kinds else 9


def vmi_spec(strategy: str) -> Object:
    return {
        "architecture": "amd64",
        "evictionStrategy": strategy,
        "domain": {
            "cpu": {"cores": 1, "model": "host-model"},
            "machine": {"type": "q35"},
            "memory": {"guest": "1Gi"},
            "devices": {"interfaces": [{"name": "default", "masquerade": {}}]},
        },
    }


def by_vm(phases: dict[str, list[str]], vmi_of: dict[str, str]) -> dict[str, list[list[str]]]:
    """Phases of migrations by VM: controllers name theirs at random."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for name, passed in phases.items():
        found[vmi_of[name]].append(passed)
    return {name: sorted(lists) for name, lists in found.items()}


@cache
def replayed(name: str) -> Replay:
    replay = Replay(name)
    replay.run()
    return replay


REPLAYED = sorted(set(SCENARIOS) - set(LEFT_OUT))


@pytest.mark.parametrize("name", REPLAYED)
def test_every_migration_passes_the_recorded_phases(name: str) -> None:
    replay = replayed(name)
    scenario = replay.scenario
    expected = {m: [phase for _, phase in passed] for m, passed in scenario["phases"].items()}
    named = dict(scenario["vmi_of"])
    for obj in replay.cluster.list(MIGRATION):
        named.setdefault(name_of(obj).name, obj["spec"]["vmiName"])
    found = {m: passed for m, passed in replay.cluster.phases.items() if m in named}
    assert by_vm(found, named) == by_vm(expected, scenario["vmi_of"])


@pytest.mark.parametrize("name", REPLAYED)
def test_every_answer_is_the_recorded_one(name: str) -> None:
    replay = replayed(name)
    expected = [
        (step["do"], step["ok"], step.get("code"), step.get("message"))
        for step in replay.scenario["steps"]
        if "ok" in step
    ]
    assert replay.answers == expected


@pytest.mark.parametrize("name", REPLAYED)
def test_the_end_is_the_recorded_one(name: str) -> None:
    replay = replayed(name)
    final = replay.scenario["final"]
    expected = {
        key: (state["phase"], state.get("nodeName") or "")
        for key, state in final.items()
        if state["kind"] in (VMI, "Pod")
    }
    found = {
        name_of(obj).name: (
            at(obj, "status", "phase", default=""),
            at(obj, "spec" if kind == "Pod" else "status", "nodeName", default=""),
        )
        for kind in (VMI, "Pod")
        for obj in replay.cluster.list(kind)
    }
    assert found == expected
    kept = sorted(key for key, state in final.items() if state["kind"] == MIGRATION)
    assert len(replay.cluster.list(MIGRATION)) == len(kept)


@pytest.mark.parametrize("name", REPLAYED)
def test_the_limits_hold_and_are_used(name: str) -> None:
    replay = replayed(name)
    parallel, _ = limits_of({"spec": replay.scenario["kubevirt"]})
    assert replay.cluster.most_at_once <= parallel
    assert replay.cluster.most_at_once == replay.scenario["most_at_once"]


# A JSON patch that lost a race, an aggregated Event, two pods that end in the same moment.
OTHER_EVENTS = {"cluster-limit-5", "quota", "vm-stopped-mid-migration", "vmim-then-vmi-deleted"}


@pytest.mark.parametrize("name", sorted(set(REPLAYED) - OTHER_EVENTS))
def test_every_event_is_the_recorded_one(name: str) -> None:
    replay = replayed(name)
    expected = {tuple(event) for event in replay.scenario["events"]}
    assert nameless(replay.cluster.events) == nameless(expected)


def nameless(events: set[Any]) -> list[tuple[str, str, str]]:
    """Without the names that controllers draw by lot."""
    return sorted(
        (kind, reason, re.sub(r"kubevirt-evacuation-m\d+|vm\d+-p\d+|<uid.*>", "?", message))
        for kind, name, reason, message in events
        if kind in (MIGRATION, VMI)
    )
