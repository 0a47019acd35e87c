"""What is wrong with a plan of a random morning: by the docs and Kubernetes' semantics alone.

Nothing of the planner, of its replay or of its rules is imported: the checker reads the folder's
objects and the printed document. A fault is one line that begins with its kind.
"""

import contextlib
import gc
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gitbot.cli.main import main
from gitbot.kubernetes.objects import KubernetesObject
from tests.laws.mornings import NOW, Morning
from tests.laws.mornings_words import (
    BANDWIDTH,
    LENGTHS,
    OVERHEAD,
    TERMINAL,
    Vm,
    Words,
    amount,
    asks,
    belongs,
    hits,
    instant,
    key_of,
    vm_of,
)

COLLECTED = 20
"""Runs of a command from one collection of garbage to the next; each leaves about 1.5 MB."""

_RUNS = count(1)

REFUSED = ("constraints/", "plan/internal")
"""Findings with which gitbot refutes its own plan."""


def faults(morning: Morning) -> list[str]:
    """The faults of `gitbot plan` on a morning."""
    with TemporaryDirectory() as folder:
        morning.write(Path(folder))
        code, out, err = run(folder)
    if code not in (0, 1):
        last = (err.strip() or out.strip()).splitlines()[-1:]
        return [f"exit {code}: {last}"]
    if not out.startswith("{"):
        return [f"no document: {err[-300:]}"]
    document = json.loads(out)
    if document["kind"] == "FindingList":
        found = any(item["severity"] == "error" for item in document["items"])
        return [] if found else ["no plan: without an error"]
    return list(Answer.of(morning, document).faults())


def run(folder: str, now: str = NOW) -> tuple[int, str, str]:
    """Exit code and both outputs of `gitbot plan` in a folder."""
    out, err, code, here = io.StringIO(), io.StringIO(), 0, Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(["plan", "--snapshot", "cluster.yaml", "--now", now, "-o", "json"])
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        os.chdir(here)
        gc.unfreeze()  # a command freezes what it has made: here it is one of thousands
        if next(_RUNS) % COLLECTED == 0:
            gc.collect()  # what was frozen counts as old, which Python looks at too seldom here
    return code, out.getvalue(), err.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The printed plan of a morning, with what the checker read of the cluster."""

    morning: Morning
    document: Mapping[str, Any]
    vmis: Mapping[Vm, KubernetesObject]
    pods: tuple[KubernetesObject, ...]
    moves: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, morning: Morning, document: Mapping[str, Any]) -> "Answer":
        objects = morning.objects()
        return cls(
            morning=morning,
            document=document,
            vmis={key_of(obj): obj for obj in objects if obj["kind"] == "VirtualMachineInstance"},
            pods=tuple(obj for obj in objects if obj["kind"] == "Pod"),
            moves=tuple(sorted(document["moves"], key=lambda move: (move["starts"], move["wave"]))),
        )

    def faults(self) -> Iterator[str]:
        yield from self._refuted()
        yield from self._paths()
        yield from self._targets()
        yield from self._states()
        yield from self._words()
        yield from self._silence()
        yield from self._drains()
        yield from self._frozen()
        yield from self._rules()
        yield from Words.of(self.morning, self.document).faults()

    def _refuted(self) -> Iterator[str]:
        for item in self.document["findings"]:
            if item["code"].startswith(REFUSED) and item["severity"] == "error":
                yield f"refuted: {item['code']}: {item['message']}"
        for rule in self.document["rules"]:
            if rule["required"] and rule["after"] > rule["before"]:
                yield f"worse rule: {rule['intent']['name']}: {rule['before']} to {rule['after']}"

    def _paths(self) -> Iterator[str]:
        """Each move begins where its VM is; none takes a VM back to where it was."""
        seen: dict[Vm, list[str]] = {}
        for move in self.moves:
            vm = vm_of(move)
            vmi = self.vmis.get(vm)
            if vmi is None or vmi["status"].get("phase") != "Running":
                yield f"no such VM: {vm} moves"
                continue
            path = seen.setdefault(vm, [vmi["status"]["nodeName"]])
            if path[-1] != move["from"]["node"]:
                yield f"wrong source: {vm} is on {path[-1]}, moves from {move['from']['node']}"
            if move["to"]["node"] in path and not move["afterReturn"]:
                yield f"undone: {vm} goes {' '.join([*path, move['to']['node']])}"
            path.append(move["to"]["node"])

    def _targets(self) -> Iterator[str]:
        """Nodes of moves take the pod: neither cordoned nor tainted, with the VM's labels."""
        nodes = {item["metadata"]["name"]: item for item in self.morning.nodes}
        asked = {
            (item["kind"], item["metadata"]["name"]): item["spec"] for item in self.morning.intents
        }
        last = {(vm_of(move), move["request"]): move for move in self.moves}
        for move in self.moves:
            name, host = move["to"]["node"], nodes[move["to"]["node"]]
            effects = {taint["effect"] for taint in host["spec"].get("taints", ())}
            if host["spec"].get("unschedulable") or effects & {"NoSchedule", "NoExecute"}:
                yield f"closed node: {vm_of(move)} goes to {name}"
            wanted = self.vmis[vm_of(move)]["spec"].get("nodeSelector", {})
            if not wanted.items() <= host["metadata"]["labels"].items():
                yield f"wrong node: {vm_of(move)} goes to {name} without {wanted}"
            spec = asked.get((move["intent"]["kind"], move["intent"]["name"]), {})
            target = spec.get("target") or {}
            final = last[vm_of(move), move["request"]] is move
            if final and "steps aside" not in move["why"] and not hits(target, host):
                yield f"wrong target: {vm_of(move)} goes to {name}, not {target}"

    def _states(self) -> Iterator[str]:
        """Room, slots and the VMs' own anti-affinity at the start of each move."""
        limits = self.document["limits"]
        spans = [
            (instant(move["starts"]), instant(move["starts"]) + move["estimatedSeconds"], move)
            for move in self.moves
        ]
        for start, _, move in spans:
            ended = [other for _, end, other in spans if end <= start]
            flying = [other for begin, end, other in spans if begin <= start < end]
            node, launcher = move["to"]["node"], self._launcher(vm_of(move))
            there = self._on(node, ended, flying)
            yield from self._room(node, there, move)
            for other in there:
                labels = other["metadata"].get("labels", {})
                same = labels.get("vm.kubevirt.io/name") == move["vm"]["name"]
                if not same and (_shuns(launcher, other) or _shuns(other, launcher)):
                    yield f"anti-affinity: {vm_of(move)} on {node} beside {key_of(other)}"
            foreign = [pair for pair, end in self._foreign() if end > start]
            source = move["from"]["node"]
            sources = sum(other["from"]["node"] == source for other in flying)
            targets = sum(other["to"]["node"] == node for other in flying)
            if len(flying) > 1:  # one move alone waits for its slot
                sources += sum(pair[0] == source for pair in foreign)
                targets += sum(pair[1] == node for pair in foreign)
            if len(flying) > max(1, limits["parallel"] - limits["reserve"] - len(foreign)):
                yield f"slots: {len(flying)} moves at {move['starts']}"
            if sources > limits["perSourceNode"] or targets > limits["perTargetNode"]:
                yield f"node slots: {sources} from {move['from']['node']}, {targets} to {node}"

    def _foreign(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Source, target and estimated end of the migrations of others that hold a slot.

        KubeVirt counts them once they are past Pending (docs/concepts.md).
        """
        for obj in self.morning.objects():
            if obj["kind"] != "VirtualMachineInstanceMigration":
                continue
            vm = (obj["metadata"]["namespace"], obj["spec"]["vmiName"])
            if vm in self.vmis and obj["status"]["phase"] not in TERMINAL | {"Pending"}:
                status = self.vmis[vm]["status"]
                size = asks(self._launcher(vm), "memory")
                end = instant(NOW) + -(-size // BANDWIDTH) + OVERHEAD
                target = status.get("migrationState", {}).get("targetNode", "")
                yield (status["nodeName"], target), end

    def _launcher(self, vm: Vm) -> KubernetesObject:
        status = self.vmis[vm]["status"]
        return next(
            item
            for item in self.pods
            if item["metadata"]["namespace"] == vm[0]
            and item["metadata"].get("labels", {}).get("vm.kubevirt.io/name") == vm[1]
            and item["spec"].get("nodeName") == status["nodeName"]
            and item["status"]["phase"] not in TERMINAL
        )

    def _on(
        self, node: str, ended: list[Mapping[str, Any]], flying: list[Mapping[str, Any]]
    ) -> list[KubernetesObject]:
        """The pods on a node: those of the cluster, of ended moves and of targets in flight."""
        at: dict[Vm, str] = {}
        moved = {}
        for move in ended:
            at[vm_of(move)] = move["to"]["node"]
            moved[key_of(self._launcher(vm_of(move)))] = vm_of(move)
        found = []
        for item in self.pods:
            if item["status"]["phase"] in TERMINAL:
                continue
            where = at.get(moved.get(key_of(item), ("", "")), item["spec"].get("nodeName"))
            if where == node:
                found.append(item)
        found += [self._launcher(vm_of(move)) for move in flying if move["to"]["node"] == node]
        return found

    def _room(
        self, node: str, there: list[KubernetesObject], move: Mapping[str, Any]
    ) -> Iterator[str]:
        host = next(item for item in self.morning.nodes if item["metadata"]["name"] == node)
        for resource in ("cpu", "memory"):
            used = sum(asks(item, resource) for item in there)
            if used > amount(host["status"]["allocatable"][resource]):
                yield f"no room: {resource} on {node} when {vm_of(move)} arrives"

    def _words(self) -> Iterator[str]:
        """No words contradict the moves, and none names an object that does not exist."""
        moved = {vm_of(move) for move in self.moves}
        held = Counter((hold["request"], *vm_of(hold)) for hold in self.document["holds"])
        yield from (f"held twice: {key}" for key, count in held.items() if count > 1)
        for hold in self.document["holds"]:
            said = [hold["reason"], *(line for item in hold["nodes"] for line in item["reasons"])]
            told = hold["code"] == "taken-away" or "the plan moves it" in hold["reason"]
            if vm_of(hold) in moved and not told:
                yield f"moved and held: {vm_of(hold)}: {hold['reason']}"
            others = (line for line in said if "-target-" in line)
            yield from (f"phantom: {vm_of(hold)}: {line}" for line in others)
            if hold["code"] == "internal":
                yield f"internal: {vm_of(hold)}: {hold['reason']}"

    def _silence(self) -> Iterator[str]:
        """Each VM that a request names is moved, held, in place (after all moves) or told of."""
        ends = {vm_of(move): move["to"]["node"] for move in self.moves}
        nodes = {item["metadata"]["name"]: item for item in self.morning.nodes}
        told = [item for item in self.document["findings"] if item["severity"] != "note"]
        for intent in self.morning.intents:
            target = intent["spec"].get("target") or {}
            if intent["kind"] != "MigrationRequest" or "balance" in target:
                continue
            name = intent["metadata"]["name"]
            mine = {vm_of(move) for move in self.moves if target == {} or belongs(move, intent)}
            held = {vm_of(hold) for hold in self.document["holds"] if belongs(hold, intent)}
            text = " ".join(item["message"] for item in told)
            whole = {"intents/blast-radius", "intents/unknown-nodes", "intents/never-open"}
            if any(item["code"] in whole for item in told):
                continue
            for vm in self._asked(intent):
                home = self.vmis.get(vm, {}).get("status", {}).get("nodeName", "")
                place = nodes.get(ends.get(vm, home))
                there = target and place and hits(target, place)
                if vm not in mine | held and not there and vm[1] not in text:
                    yield f"silence: {name} asks for {vm}"

    def _asked(self, intent: Mapping[str, Any]) -> list[Vm]:
        namespace, vms = intent["metadata"]["namespace"], intent["spec"]["vms"]
        if "names" in vms:
            return [(namespace, name) for name in vms["names"]]
        found = []
        chosen = vms.get("selector", {})
        apps = {*chosen.get("matchLabels", {}).values()}
        apps |= {value for each in chosen.get("matchExpressions", ()) for value in each["values"]}
        for vm, vmi in self.vmis.items():
            labels, node = vmi["metadata"]["labels"], vmi["status"].get("nodeName")
            here = vmi["status"]["phase"] not in TERMINAL and node == vms.get("onNode")
            picked = labels["app"] in apps if chosen else here
            if vm[0] == namespace and picked:
                found.append(vm)
        return found

    def _drains(self) -> Iterator[str]:
        """No VM is left on a node that the plan calls emptied."""
        ends = {vm: vmi["status"].get("nodeName") for vm, vmi in self.vmis.items()}
        ends |= {vm_of(move): move["to"]["node"] for move in self.moves}
        back = {vm_of(move) for move in self.moves if move["afterReturn"]}
        held = {vm_of(hold) for hold in self.document["holds"]}
        for drain in self.document["drains"]:
            for vm, node in ends.items():
                running = self.vmis[vm]["status"]["phase"] == "Running"
                if running and node in drain["emptied"] and vm not in back | held:
                    yield f"not emptied: {vm} stays on {node}"

    def _frozen(self) -> Iterator[str]:
        for intent in self.morning.intents:
            if intent["kind"] == "FreezeWindow":
                match = intent["spec"]["selector"]["matchLabels"]
                begins, ends = _freeze(intent["spec"])
                for move in self.moves:
                    starts = instant(move["starts"])
                    if starts >= ends or starts + move["estimatedSeconds"] <= begins:
                        continue
                    if match.items() <= self.vmis[vm_of(move)]["metadata"]["labels"].items():
                        yield f"frozen: {vm_of(move)} moves"

    def _rules(self) -> Iterator[str]:
        """Rules whose amounts can be counted here: as told, and no required one is worse."""
        told = {
            (item["intent"]["kind"], item["intent"]["name"]): item
            for item in self.document["rules"]
        }
        first = self._places()
        last = {vm: set(nodes) for vm, nodes in first.items()}
        for move in self.moves:
            last[vm_of(move)] -= {move["from"]["node"]}
            last[vm_of(move)] |= {move["to"]["node"]}
        for intent in self.morning.intents:
            rule = told.get((intent["kind"], intent["metadata"]["name"]))
            before, after = self._broken(intent, first), self._broken(intent, last)
            if before is None or after is None or rule is None:
                continue
            if (rule["before"], rule["after"]) != (before, after):
                yield f"miscounted: {rule['intent']['name']}: {rule} is {before} to {after}"
            if rule["required"] and after > before:
                yield f"broken: {rule['intent']['name']}: {before} to {after}"

    def _places(self) -> dict[Vm, set[str]]:
        """The nodes of each VM: where it runs, and where launcher pods of it have not ended."""
        found: dict[Vm, set[str]] = {}
        for item in self.pods:
            name = item["metadata"].get("labels", {}).get("vm.kubevirt.io/name", "")
            vmi = self.vmis.get(
                (item["metadata"]["namespace"], name), {"status": {"phase": "Failed"}}
            )
            if TERMINAL.isdisjoint((item["status"]["phase"], vmi["status"]["phase"])):
                found.setdefault(key_of(vmi), set()).add(item["spec"]["nodeName"])
        return found

    def _broken(self, intent: Mapping[str, Any], places: Mapping[Vm, set[str]]) -> int | None:
        """How much of a rule is broken; None if this checker does not count such rules."""
        spec, namespace = intent["spec"], intent["metadata"].get("namespace")
        if intent["kind"] not in ("ZoneAntiAffinity", "PlacementRule"):
            return None
        labels = {
            item["metadata"]["name"]: item["metadata"]["labels"] for item in self.morning.nodes
        }
        match = spec["selector"]["matchLabels"].items()
        members = [
            nodes
            for vm, nodes in places.items()
            if vm[0] == namespace and match <= self.vmis[vm]["metadata"]["labels"].items()
        ]
        if "nodeAffinity" in spec:
            return sum(
                any("disk" not in labels.get(node, ()) for node in nodes) for nodes in members
            )
        if "maxPerDomain" not in spec:
            return None
        domains = Counter(
            value for nodes in members for value in {labels[n][spec["topologyKey"]] for n in nodes}
        )
        most: int = spec["maxPerDomain"]
        return sum(max(0, count - most) for count in domains.values())


def _freeze(spec: Mapping[str, Any]) -> tuple[float, float]:
    """From when until when."""
    if "schedule" not in spec:
        return 0, float("inf")
    begins = instant(f"{spec['schedule']['start']}Z")
    return begins, begins + LENGTHS[spec["schedule"]["duration"]]


def _shuns(pod: KubernetesObject, other: KubernetesObject) -> bool:
    """Whether a required anti-affinity of the pod, on the host, matches the other pod."""
    if pod["metadata"]["namespace"] != other["metadata"]["namespace"]:
        return False
    apart = pod["spec"].get("affinity", {}).get("podAntiAffinity", {})
    return any(
        term["labelSelector"]["matchLabels"].items() <= other["metadata"].get("labels", {}).items()
        for term in apart.get("requiredDuringSchedulingIgnoredDuringExecution", ())
    )
