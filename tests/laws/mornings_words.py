"""What a plan of a random morning says, recomputed from the objects alone: numbers, names, codes.

As in the checker, nothing of the planner, of its replay or of its rules is imported. A fault is one
line that begins with its kind.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from tests.laws.mornings import NOW, Morning

Vm = tuple[str, str]
Item = Mapping[str, Any]

TERMINAL = frozenset({"Succeeded", "Failed"})
LENGTHS = {
    "PT10M": 600,
    "PT15M": 900,
    "PT30M": 1800,
    "PT1H": 3600,
    "PT65M": 3900,
    "PT2H": 7200,
    "PT4H": 14400,
    "Auto": 12 * 3600,  # at most
}
UNITS = (("Gi", 1024**3), ("Mi", 1024**2), ("Ki", 1024), ("m", 1))
BANDWIDTH, OVERHEAD = 64 * 1024**2, 20
"""Bytes a second and seconds: `estimatedSeconds` in docs/reference/plan.md."""

_ROOM = re.compile(r"(cpu|memory): asks (\S+), (\S+) of (\S+) free, (\S+) missing")
_POD = re.compile(r"anti-affinity of (\S+)/(\S+) on (\S+) forbids|already holds (\S+)/(\S+?),? ")
_ASKS = re.compile(r"no plan exists: ([\w, -]+) asks? (\S+) (cpu|memory); (.*)")
_LACKS = re.compile(r"at least (\S+) more (cpu|memory) is needed")
_HAVE = re.compile(r"(?:has|have) (none|[\d.]+[GMK]?i?m?)\b")
_STAYS = re.compile(r"node (\S+) is not emptied: (\S+)/(\S+) cannot move \((\S+)\)")
_ASIDE = re.compile(r"steps aside to make room for (\S+)/(\S+)")


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def amount(text: str) -> int:
    """cpu in milli, memory in bytes, of the quantities that mornings have."""
    for unit, size in UNITS:
        if text.endswith(unit):
            return int(text.removesuffix(unit)) * size
    return int(text) * 1000


def key_of(obj: KubernetesObject) -> Vm:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def vm_of(item: Item) -> Vm:
    return item["vm"]["namespace"], item["vm"]["name"]


def belongs(item: Item, intent: Item) -> bool:
    """Whether a move or hold is of an intent."""
    mine = (intent["kind"], intent["metadata"].get("namespace", ""), intent["metadata"]["name"])
    return (item["intent"]["kind"], item["intent"]["namespace"], item["intent"]["name"]) == mine


def hits(target: Item, host: KubernetesObject) -> bool:
    labels = host["metadata"]["labels"]
    wanted = dict(target.get("nodeSelector", {}))
    if "zone" in target:
        wanted["topology.kubernetes.io/zone"] = target["zone"]
    named = target.get("node", host["metadata"]["name"]) == host["metadata"]["name"]
    return bool(named and wanted.items() <= labels.items())


def asks(pod: KubernetesObject, resource: str) -> int:
    return sum(
        amount(item["resources"]["requests"][resource]) for item in pod["spec"]["containers"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of one plan, beside the objects of its morning."""

    morning: Morning
    document: Mapping[str, Any]
    objects: Sequence[KubernetesObject]
    nodes: Mapping[str, KubernetesObject]
    vmis: Mapping[Vm, KubernetesObject]

    @classmethod
    def of(cls, morning: Morning, document: Mapping[str, Any]) -> "Words":
        objects = morning.objects()
        return cls(
            morning=morning,
            document=document,
            objects=objects,
            nodes={item["metadata"]["name"]: item for item in morning.nodes},
            vmis={key_of(obj): obj for obj in objects if obj["kind"] == "VirtualMachineInstance"},
        )

    def faults(self) -> Iterator[str]:
        for hold in self.document["holds"]:
            yield from self._code(hold)
            yield from self._proof(hold)
            for item in hold["nodes"]:
                for line in item["reasons"]:
                    yield from self._line(hold, item["node"], line)
        for move in self.document["moves"]:
            if vm_of(move) in self.vmis:
                yield from self._move(move)
        yield from self._windows()
        yield from self._sums()

    def _code(self, hold: Item) -> Iterator[str]:
        """The code of a hold is true of its VM."""
        vm, code = vm_of(hold), hold["code"]
        vmi = self.vmis.get(vm, {"status": {}, "metadata": {"labels": {}}})
        status, live = vmi["status"], True
        intent = next((each for each in self.morning.intents if belongs(hold, each)), None)
        match code:
            case "in-flight":
                live = self._migrates(vm)
            case "frozen":
                live = any(self._frozen(vmi))
            case "restart-needed" | "not-migratable":
                conditions = {item["type"]: item["status"] for item in status["conditions"]}
                live = conditions["LiveMigratable"] != "True"
            case "not-running":
                live = status.get("phase") != "Running"
            case "not-found":
                live = vm not in {key_of(obj) for obj in self.objects if "spec" in obj}
            case "deadline":
                times = {"deadline", "schedule"} & (intent or {"spec": {}})["spec"].keys()
                live = bool(times) or any(self._frozen(vmi))
            case "blocked-node":
                live = self._culprit(hold)
        if not live:
            yield f"untrue: {vm} is held as {code}: {hold['reason']}"

    def _migrates(self, vm: Vm) -> bool:
        moving = "migrationState" in self.vmis[vm]["status"]
        return moving or any(
            obj["kind"] == "VirtualMachineInstanceMigration"
            and (obj["metadata"]["namespace"], obj["spec"]["vmiName"]) == vm
            and obj["status"]["phase"] not in TERMINAL
            for obj in self.objects
        )

    def _frozen(self, vmi: KubernetesObject) -> Iterator[bool]:
        """Whether each freeze is about the VM, at any time."""
        for intent in self.morning.intents:
            if intent["kind"] == "FreezeWindow":
                match = intent["spec"]["selector"]["matchLabels"]
                yield match.items() <= vmi["metadata"]["labels"].items()

    def _culprit(self, hold: Item) -> bool:
        """Whether the VM that keeps a node is held itself, with the code that is told."""
        told = _STAYS.match(hold["reason"])
        return told is None or any(
            other["code"] == told[4] and vm_of(other) == (told[2], told[3])
            for other in self.document["holds"]
            if other["request"] == hold["request"]
        )

    def _proof(self, hold: Item) -> Iterator[str]:
        """The numbers of a proof are those of its VMs, and its remedy is their difference."""
        told = _ASKS.match(hold["reason"])
        if told is None or "must be there" in told[4]:
            return
        names, wanted, resource, rest = told.groups()
        namespace = hold["vm"]["namespace"]
        vms = [self.vmis.get((namespace, name)) for name in names.split(", ")]
        if not all(vms) or "." in wanted:  # "4 VMs", or rounded
            return
        exact = sum(self._ask(vm_of({"vm": vmi["metadata"]}), resource) for vmi in vms if vmi)
        if exact != amount(wanted):
            yield f"amount: {hold['reason']}: they ask {exact}"
        lack, have = _LACKS.search(hold["hint"]), _HAVE.search(rest)
        if lack and have and not {"."} & {*lack[1], *have[1]}:
            least = amount(wanted) - (0 if have[1] == "none" else amount(have[1]))
            over = sum(  # an overfull node lacks that, too
                max(0, -self._free(node, resource)[0])
                for node in self.nodes
                if re.search(rf"\b{node}\b", rest.partition(" beside ")[0])
            )
            most = least + over + (2**30 // 10 if over else 0)  # told in tenths
            if not least <= amount(lack[1]) <= most:
                yield f"remedy: {hold['reason']}: {hold['hint']}"
        if len(vms) == 1 and (names.strip() == hold["vm"]["name"]):
            yield from self._disproved(hold, resource, rest)

    def _disproved(self, hold: Item, resource: str, rest: str) -> Iterator[str]:
        """No node that a proof names has the room that it denies."""
        for node in self.nodes:
            if re.search(rf"\b{node}\b", rest.partition(" beside ")[0]):
                free, ask = self._free(node, resource), self._ask(vm_of(hold), resource)
                if free[0] >= ask and self.vmis[vm_of(hold)]["status"].get("nodeName") != node:
                    yield f"false proof: {hold['reason']}: {node} has {free[0]}"

    def _ask(self, vm: Vm, resource: str) -> int:
        """What the target pod of a VM asks for: the same as its launcher."""
        return next(
            asks(pod, resource)
            for pod in self.objects
            if pod["kind"] == "Pod"
            and pod["metadata"]["namespace"] == vm[0]
            and pod["metadata"].get("labels", {}).get("vm.kubevirt.io/name") == vm[1]
        )

    def _free(self, node: str, resource: str) -> list[int]:
        """What is free on a node now, and after each selection of the plan's moves."""
        used = sum(
            asks(pod, resource)
            for pod in self.objects
            if pod["kind"] == "Pod"
            and pod["spec"].get("nodeName") == node
            and pod["status"]["phase"] not in TERMINAL
        )
        now = amount(self.nodes[node]["status"]["allocatable"][resource]) - used
        comes = [
            self._ask(vm_of(move), resource) * (1 if move["from"]["node"] == node else -1)
            for move in self.document["moves"]
            if node in (move["from"]["node"], move["to"]["node"])
        ]
        sums = (
            sum(some) for size in range(len(comes[:10]) + 1) for some in combinations(comes, size)
        )
        return [now + each for each in dict.fromkeys(sums)]

    def _line(self, hold: Item, node: str, line: str) -> Iterator[str]:
        """Each reason of a node is true of the node."""
        host, said = self.nodes[node], f"{vm_of(hold)}: {node}: {line}"
        if line.startswith("NodeResourcesFit"):
            for resource, asked, free, whole, missing in _ROOM.findall(line):
                ask, capacity = (
                    self._ask(vm_of(hold), resource),
                    amount(host["status"]["allocatable"][resource]),
                )
                told = tuple(map(amount, (asked, free, whole, missing)))
                states = [
                    (ask, max(0, there), capacity, ask - there)  # more may be asked than there is
                    for there in self._free(node, resource)
                ]
                if told not in states:
                    yield f"amount: {said}; {states[:4]}"
        if not self._holds_true(hold, host, line):
            yield f"untrue line: {said}"
        for found in _POD.finditer(line):
            if not self._known(found):
                yield f"phantom: {said}"

    def _holds_true(self, hold: Item, host: KubernetesObject, line: str) -> bool:
        """Whether what a line says of a node's state is true."""
        if line.endswith("empties this node"):
            return any(
                host["metadata"]["name"] in each["spec"]["nodes"]["names"]
                for each in self.morning.intents
                if each["kind"] == "MaintenanceWindow" and each["metadata"]["name"] in line
            )
        if line.endswith("(spec.unschedulable)"):
            return host["spec"].get("unschedulable", False) is True
        if line.startswith("TaintToleration"):
            return any(taint["key"] in line for taint in host["spec"].get("taints", ()))
        if line.startswith("NodeAffinity: nodeSelector wants kubevirt.io/schedulable"):
            return bool(host["metadata"]["labels"]["kubevirt.io/schedulable"] != "true")
        if line.startswith("NodeAffinity: nodeSelector"):
            return "disk" not in host["metadata"]["labels"]
        if line == "not among the nodes that the intent asks for":
            intent = next(each for each in self.morning.intents if belongs(hold, each))
            return not hits(intent["spec"].get("target") or {}, host)
        return True

    def _known(self, found: "re.Match[str]") -> bool:
        """Whether a pod that a reason names is in the cluster, or a VM that it names moves."""
        namespace, name = found[1] or found[4], found[2] or found[5]
        pods = {key_of(obj) for obj in self.objects if obj["kind"] == "Pod"}
        moved = {vm_of(move) for move in self.document["moves"]}
        return (namespace, name) in pods | moved

    def _move(self, move: Item) -> Iterator[str]:
        """Sizes, reasons and dependencies of a move."""
        vm, begins = vm_of(move), instant(move["starts"])
        size = self._ask(vm, "memory")
        seconds = -(-size // BANDWIDTH) + OVERHEAD
        if (move["memoryBytes"], move["estimatedSeconds"]) != (size, seconds):
            yield f"size: {vm}: {move['memoryBytes']} in {move['estimatedSeconds']} s"
        ends = {
            (each["request"], each["id"]): instant(each["starts"]) + each["estimatedSeconds"]
            for each in self.document["moves"]
        }
        for after in move["after"]:
            if ends[after["request"], after["id"]] > begins:
                yield f"too early: {vm} starts {move['starts']}, before {after} ends"
        aside = _ASIDE.match(move["why"])
        if aside and (aside[1], aside[2]) not in {vm_of(each) for each in self.document["moves"]}:
            yield f"untrue reason: {vm} {move['why']}"
        if self._migrates(vm):
            yield f"migrates already: {vm} moves"
        if move["to"]["node"] not in move["allowedNodes"]:
            yield f"landing: {vm} may not land on {move['to']['node']}"
        pinned = move["addedNodeSelector"].get("kubernetes.io/hostname")
        if move["pin"] == "Node" and pinned != move["to"]["node"]:
            yield f"pin: {vm} goes to {move['to']['node']}, is pinned to {pinned}"
        intent = next((each for each in self.morning.intents if belongs(move, each)), None)
        if intent is not None:
            yield from self._times(move, intent, begins, ends[move["request"], move["id"]])

    def _times(self, move: Item, intent: Item, begins: int, end: int) -> Iterator[str]:
        spec = intent["spec"]
        if begins < instant(NOW):
            yield f"time: {vm_of(move)} starts {move['starts']}"
        if "deadline" in spec and end > instant(spec["deadline"]):
            yield f"time: {vm_of(move)} ends after {spec['deadline']}"
        if "schedule" in spec:
            opens = instant(f"{spec['schedule']['start']}Z")
            lead = LENGTHS.get(spec["drain"].get("lead", ""), 0)
            if begins < opens - lead or end > opens + LENGTHS[spec["schedule"]["duration"]]:
                yield f"time: {vm_of(move)} runs outside its window, from {move['starts']}"

    def _sums(self) -> Iterator[str]:
        """Recount the minimised amounts and the bound from the moves and holds."""
        told = {item["what"]: item["amount"] for item in self.document["minimised"]}
        moves, holds = self.document["moves"], self.document["holds"]
        found = {
            "moves": len(moves),
            "held": sum(hold["asked"] for hold in holds),
            "memoryBytes": sum(move["memoryBytes"] for move in moves),
        }
        if not found.items() <= told.items():
            yield f"sums: {told} of {found}"
        bound = self.document["bound"]
        if bound["proof"] in ("counted", "searched") and bound["moves"] != len(moves):
            yield f"bound: {bound['moves']} of {len(moves)} moves, {bound['proof']}"

    def _windows(self) -> Iterator[str]:
        """Each node of a window is emptied or kept; few at once; no request goes to such a node."""
        windows = [each for each in self.morning.intents if each["kind"] == "MaintenanceWindow"]
        for window in windows:
            names = [name for name in window["spec"]["nodes"]["names"] if name in self.nodes]
            mine = [move for move in self.document["moves"] if belongs(move, window)]
            for drain in self.document["drains"]:
                if drain["request"].split("/")[1] == window["metadata"]["name"]:
                    listed = [*drain["emptied"], *drain["kept"]]
                    if sorted(listed) != sorted(names):
                        yield f"drain: {listed} of {names}"
            if window["spec"]["drain"].get("mode") == "Together":
                whole = window["spec"]["drain"]["notMigratable"] == "BlockNode"
                yield from self._together(names, mine, whole=whole)
            else:
                yield from self._lanes(mine, window["spec"]["drain"])
            yield from self._blocked(mine, window["spec"]["drain"])
            for move in self.document["moves"]:
                inside = move["to"]["node"] in names and not move["afterReturn"]
                if inside and not belongs(move, window):
                    yield f"into a window: {vm_of(move)} goes to {move['to']['node']}"

    def _together(
        self, names: Sequence[str], moves: Sequence[Item], *, whole: bool
    ) -> Iterator[str]:
        """All nodes or none, and none of them takes a VM that leaves another one.

        If not `whole`, VMs that cannot migrate may keep some.
        """
        drains = [each for each in self.document["drains"] if set(names) & {*each["emptied"]}]
        kept = {node for drain in drains for node in drain["kept"]}
        if whole and moves and kept & set(names):
            yield f"not together: {sorted(kept)} stay, of {names}"
        inside = [move for move in moves if move["to"]["node"] in names and not move["afterReturn"]]
        yield from (f"not together: {vm_of(move)} goes to {move['to']['node']}" for move in inside)

    def _lanes(self, moves: Sequence[Item], drain: Item) -> Iterator[str]:
        """So many nodes at once, each until it is back; moves onto a node wait until it is back."""
        away = 600 if drain.get("reboot") == "PT10M" else 0
        spans: dict[str, tuple[int, int]] = {}
        for move in moves:
            begins = instant(move["starts"])
            first, last = spans.get(move["group"], (begins, begins))
            end = begins + move["estimatedSeconds"] + away
            spans[move["group"]] = min(first, begins), max(last, end)
        for group, (begins, _) in spans.items():
            open_now = [other for other, (first, end) in spans.items() if first <= begins < end]
            if len(open_now) > drain["maxNodesAtOnce"]:
                yield f"too many nodes at once: {open_now} when {group} begins"
        backs = {group.rpartition("/")[2]: end for group, (_, end) in spans.items()}
        for move in moves:
            back = backs.get(move["to"]["node"], 0)
            if move["afterReturn"] and instant(move["starts"]) < back:
                yield f"not back: {vm_of(move)} goes to {move['to']['node']}"

    def _blocked(self, moves: Sequence[Item], drain: Item) -> Iterator[str]:
        """No VM leaves a node for maintenance that a VM keeps which cannot migrate."""
        for vmi in self.vmis.values():
            conditions = {
                item["type"]: item["status"] for item in vmi["status"].get("conditions", ())
            }
            stays = conditions.get("LiveMigratable") != "True" and not self._migrates(key_of(vmi))
            if not stays or vmi["status"]["phase"] != "Running":
                continue
            node = vmi["status"]["nodeName"]
            leaves = [move for move in moves if move["why"] == f"{node} is emptied"]
            if leaves and drain["notMigratable"] == "BlockNode":
                yield f"blocked node: {vm_of(leaves[0])} leaves {node}"
