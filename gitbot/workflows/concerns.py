"""Concerns: what gitbot would open a pull request about, from base branch, ledger and cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gitbot.execution.accept import SUPERSEDED, is_known, may_enter
from gitbot.execution.facts import ClusterFacts
from gitbot.execution.state import (
    MoveRecord,
    NodeState,
    RequestRecord,
    RequestState,
    fold_homes,
    fold_nodes,
    fold_requests,
    highest_move,
    last_moved,
)
from gitbot.execution.values import Approved, Stale
from gitbot.intents import Intent
from gitbot.intents.compile import Opening
from gitbot.intents.kinds.maintenance_window import MaintenanceWindowSpec
from gitbot.model.canonical import digest, short_digest
from gitbot.model.constraint import Breach
from gitbot.model.ledger import Ledger, MoveState
from gitbot.model.names import IntentRef, NamespacedName
from gitbot.model.objects import uid_of
from gitbot.model.problem import (
    EmptyNodes,
    Goal,
    HealRule,
    MoveVms,
    PlacementProblem,
    Request,
    ReturnHome,
)
from gitbot.workflows.base import GitBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One thing to propose. `observation` identifies what was seen, for `stabilize` seconds.

    `auto` says that no pull request is needed; `soft` that nothing Required is broken, so that
    VMs moved lately are left alone; `urgent` that it is about something already approved.
    """

    name: str
    intent: IntentRef
    goal: Goal
    observation: str
    why: str
    occurrence: str = ""
    stabilize: int = 0
    auto: bool = False
    soft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What concerns are found in. `open_requests` are planned ids that open pulls are about."""

    base: GitBase
    ledger: Ledger
    approved: tuple[Approved, ...]
    stale: tuple[Stale, ...]
    problem: PlacementProblem
    now: int

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.problem.cluster

    @property
    def facts(self) -> ClusterFacts:
        """The cluster by name."""
        return ClusterFacts.of(
            self.problem, self.problem.snapshot.of("VirtualMachineInstanceMigration")
        )


_LONGEST_NAME = 200


def find_concerns(scene: Scene) -> tuple[Concern, ...]:
    """Every concern that stands now, sorted by name."""
    records = dict(fold_requests(scene.ledger, scene.cluster))
    found = [
        *_drains(scene, records),
        *_returns(scene, records),
        *_heals(scene, records),
        *_requests(scene, records),
        *_rests(scene, records),
    ]
    return tuple(sorted(found, key=lambda concern: concern.name))


def concern_name(*parts: str) -> str:
    """The name of a concern: lower case, so that it can name a file, a branch and a proposal.

    Cut to a prefix and ten hex digits of the whole where it is long (names of objects have up to
    253 characters, and a file or ref with a suffix has room for 255 bytes), or where Git would
    refuse it as the end of a ref.
    """
    name = "-".join(part for part in parts if part).lower()
    if len(name) <= _LONGEST_NAME and not name.endswith(".lock"):
        return name
    return f"{name[: _LONGEST_NAME - 11].rstrip('-.')}-{short_digest(name, 10)}"


def _full_name(ref: IntentRef) -> str:
    """Namespace and name; dashes of the namespace doubled, so that a/b-c is not a-b/c."""
    return f"{ref.namespace.replace('-', '--')}-{ref.name}"


def _numbered(request: Request, records: dict[str, RequestRecord]) -> Request:
    return replace(request, first_move=highest_move(records, request.id) + 1)


def _is_approved(scene: Scene, planned: str) -> bool:
    """Whether an approved plan for it stands: not void, and in the ledger or able to enter it."""
    records = fold_requests(scene.ledger, scene.cluster)
    return any(
        _stands(item, records.get(item.id, RequestRecord(id=item.id)))
        for item in scene.approved
        if any(move.request == planned for move in item.moves)
    )


def _stands(item: Approved, record: RequestRecord) -> bool:
    known = any(is_known(record, item, move) for move in item.moves)
    return not item.terms.void and (known or may_enter(record, item, item.moves))


def _stale_moves(scene: Scene, record: RequestRecord | None) -> list[MoveRecord]:
    if record is None:
        return []
    groups = {item.group for item in scene.stale if item.request == record.id}
    return [
        move
        for _, move in sorted(record.moves.items())
        if not move.final and not move.under_way and move.group in groups
    ]


# Drains


def _drains(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    concerns = []
    for intent, spec in scene.base.intents.maintenance_windows:
        opening = scene.base.opening(intent) if spec.nodes is not None else None
        if opening is None or not _is_announced(scene, opening):
            continue
        concern = _drain(scene, records, intent, opening)
        if concern is not None:
            concerns.append(concern)
    return concerns


def _is_announced(scene: Scene, opening: Opening) -> bool:
    announce = scene.base.settings.proposals.announce
    return opening.allowed.start - announce <= scene.now < opening.allowed.end


def _drain(
    scene: Scene,
    records: dict[str, RequestRecord],
    intent: Intent,
    opening: Opening,
) -> Concern | None:
    planned = opening.drain
    record = records.get(planned)
    stale = _stale_moves(scene, record)
    if record is not None and record.spent:
        return None  # what is left of it is a concern of its own
    if _is_approved(scene, planned) and not stale:
        return None
    goal = scene.base.drain_goal(intent, opening, scene.problem.snapshot)
    if goal is None:
        return None
    if stale:
        nodes = {move.source for move in stale}
        goal = replace(goal, nodes=tuple(node for node in goal.nodes if node in nodes))
    elif not _occupied(scene, goal.nodes):
        return None
    return Concern(
        name=concern_name("drain", intent.ref.name, opening.id),
        intent=intent.ref,
        goal=replace(goal, request=_numbered(goal.request, records)),
        observation=digest([planned, list(goal.nodes)]),
        why=_stale_words(stale) or f"empty {_some(goal.nodes)} for {intent.ref.name}",
        occurrence=opening.id,
        auto=bool(stale) and _within_policy(intent),
    )


def _within_policy(intent: Intent) -> bool:
    spec = intent.spec
    return isinstance(spec, MaintenanceWindowSpec) and spec.reapprove == "WithinPolicy"


def _occupied(scene: Scene, nodes: tuple[str, ...]) -> bool:
    return any(scene.facts.instances_on(node) for node in nodes)


# Coming home


def _returns(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    concerns = []
    for window, occurrence in _occurrences(scene.ledger, scene.cluster):
        intent = scene.base.intents.find("MaintenanceWindow", window)
        spec = intent.spec if intent is not None else None
        if intent is None or not isinstance(spec, MaintenanceWindowSpec):
            continue
        homes = homes_due(scene, records, window, occurrence)
        planned = f"return/{window}/{occurrence}"
        record = records.get(planned)
        open_vms = _open_vms(record) | _approved_vms(scene, planned, record)
        stale = {move.vm for move in _stale_moves(scene, record)}
        due = {vm: node for vm, node in homes.items() if vm not in open_vms or vm in stale}
        if spec.return_home == "Never" or not due:
            continue
        request = _numbered(Request(id=planned, intent=intent.ref), records)
        concerns.append(
            Concern(
                name=concern_name("return", window, occurrence),
                intent=intent.ref,
                goal=ReturnHome(request=request, homes=due),
                observation=digest([planned, {str(vm): node for vm, node in due.items()}]),
                why=f"bring {_some(tuple(str(vm) for vm in due))} home after {window}"
                + _staying_words(stay_away(scene, records, window, occurrence)),
                occurrence=occurrence,
                auto=spec.return_home == "Auto" and scene.base.settings.allow_auto,
            )
        )
    return concerns


def _occurrences(ledger: Ledger, cluster: str) -> list[tuple[str, str]]:
    prefix = f"nodes/{cluster}/"
    files = {entry.file for entry in ledger.entries if entry.file.startswith(prefix)}
    pairs = [file.removeprefix(prefix).removesuffix(".jsonl").split("/") for file in files]
    return sorted((pair[0], pair[1]) for pair in pairs if len(pair) == 2)


def _open_vms(record: RequestRecord | None) -> set[NamespacedName]:
    """VMs whose way home is approved, or was tried and failed: nobody is asked twice."""
    if record is None:
        return set()
    return {
        move.vm
        for move in record.moves.values()
        if not move.final or move.state in (MoveState.FAILED, MoveState.SUCCEEDED)
    }


def _approved_vms(scene: Scene, planned: str, record: RequestRecord | None) -> set[NamespacedName]:
    """VMs of approved plans that the ledger has not accepted yet."""
    known = record.moves if record is not None else {}
    return {
        move.vm.namespaced_name
        for item in scene.approved
        if item.id == planned and not item.terms.void
        for move in item.moves
        if move.id not in known
    }


def homes_due(
    scene: Scene, records: dict[str, RequestRecord], window: str, occurrence: str
) -> dict[NamespacedName, str]:
    """VMs that may go home now, with their homes.

    The home is returned, the VM is the same, and it is where gitbot put it: nobody else moved it.
    """
    known = {"cluster": scene.cluster, "window": window, "occurrence": occurrence}
    nodes = fold_nodes(scene.ledger, **known)
    landed = _landed(records.get(f"drain/{window}/{occurrence}"))
    facts = scene.facts
    due = {}
    for vm, home in fold_homes(scene.ledger, **known).items():
        back = home in nodes and nodes[home].state is NodeState.RETURNED
        node, uid = landed.get(vm, ("", ""))
        same = uid_of(facts.instances.get(vm, {})) == uid and facts.node_of(vm) == node
        if back and node and node != home and same:
            due[vm] = home
    return due


def stay_away(
    scene: Scene, records: dict[str, RequestRecord], window: str, occurrence: str
) -> dict[NamespacedName, str]:
    """VMs that were moved off a returned node and are left where they are, each with the reason."""
    known = {"cluster": scene.cluster, "window": window, "occurrence": occurrence}
    nodes = fold_nodes(scene.ledger, **known)
    landed = _landed(records.get(f"drain/{window}/{occurrence}"))
    brought = _open_vms(records.get(f"return/{window}/{occurrence}"))
    staying = {}
    for vm, home in fold_homes(scene.ledger, **known).items():
        instance = scene.facts.instances.get(vm)
        back = home in nodes and nodes[home].state is NodeState.RETURNED
        if instance is None or not back or vm not in landed or vm in brought:
            continue
        here, (node, uid) = scene.facts.node_of(vm), landed[vm]
        if here == home:
            continue
        if uid_of(instance) != uid:
            staying[vm] = f"started anew on {here or 'no node'}"
        elif here != node:
            staying[vm] = f"moved to {here or 'no node'} by somebody else"
    return staying


def _staying_words(staying: dict[NamespacedName, str]) -> str:
    listed = tuple(f"{vm} ({why})" for vm, why in sorted(staying.items()))
    return f"; stay where they are: {_some(listed, most=20)}" if listed else ""


def _landed(record: RequestRecord | None) -> dict[NamespacedName, tuple[str, str]]:
    if record is None:
        return {}
    return {
        move.vm: (move.landed, move.vm_uid)
        for _, move in sorted(record.moves.items())
        if move.state is MoveState.SUCCEEDED
    }


# Healing


def _heals(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    concerns = []
    for intent, heal, required in scene.base.healing_rules():
        breaches = breaches_of(scene, intent.ref, required=required)
        planned = f"heal/{intent.ref.namespace}/{intent.ref.kind}/{intent.ref.name}"
        if not breaches or heal == "Report" or _heal_under_way(scene, records, planned):
            continue
        request = _numbered(Request(id=planned, intent=intent.ref), records)
        seen = sorted((breach.key, breach.amount) for breach in breaches)
        concerns.append(
            Concern(
                name=concern_name("heal", intent.ref.kind, _full_name(intent.ref)),
                intent=intent.ref,
                goal=HealRule(request=request, rule=intent.ref),
                observation=digest([planned, [list(item) for item in seen]]),
                why=f"heal {intent.ref.id}: {breaches[0].message}",
                stabilize=scene.base.settings.proposals.stabilize,
                auto=heal == "Auto" and scene.base.settings.allow_auto,
                soft=not required,
            )
        )
    return concerns


def _heal_under_way(scene: Scene, records: dict[str, RequestRecord], planned: str) -> bool:
    """Whether an approved healing of the rule is unfinished and not stale."""
    mine = [item for item in scene.approved if item.id.startswith(planned + "/")]
    for item in mine:
        record = records.get(item.id)
        if item.terms.void or (record is not None and record.finished):
            continue
        if not any(stale.request == item.id for stale in scene.stale):
            return True
    return False


def _occupancy(scene: Scene) -> dict[NamespacedName, frozenset[str]]:
    facts = scene.facts
    return {
        name: frozenset({node}) for name in sorted(facts.instances) if (node := facts.node_of(name))
    }


def breaches_of(scene: Scene, ref: IntentRef, *, required: bool) -> tuple[Breach, ...]:
    """What of a rule is broken now, VMs at rest where they are.

    Of a Required rule the hard part counts alone: its preferred terms heal nothing.
    """
    occupancy = _occupancy(scene)
    return tuple(
        breach
        for rule in scene.problem.rules
        if rule.ref.id == ref.id and (rule.required or not required)
        for breach in rule.breaches(occupancy)
    )


# One-off requests


def _requests(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    """Requests on the base branch that nobody approved, or whose plan no longer keeps the law."""
    wanted: dict[str, list[MoveRecord]] = {}
    for intent, _ in scene.base.intents.migration_requests:
        planned = f"request/{intent.ref.namespace}/{intent.ref.name}"
        record = records.get(planned)
        stale = _stale_moves(scene, record)
        over = record is not None and (record.spent or record.cancelled)
        if not over and (stale or not _is_approved(scene, planned)):
            wanted[planned] = stale
    if not wanted:
        return []
    goals = scene.base.request_goals(scene.problem.snapshot, only=tuple(wanted))
    return [_request(scene, records, goal, wanted[goal.request.id]) for goal in goals]


def _request(
    scene: Scene, records: dict[str, RequestRecord], goal: MoveVms, stale: list[MoveRecord]
) -> Concern:
    if stale:
        goal = replace(goal, vms=tuple(sorted({move.vm for move in stale})))
    ref = goal.request.intent
    return Concern(
        name=concern_name("request", _full_name(ref)),
        intent=ref,
        goal=replace(goal, request=_numbered(goal.request, records)),
        observation=digest([goal.request.id, [str(vm) for vm in goal.vms]]),
        why=_stale_words(stale) or f"carry out {goal.request.id}, which has no approved plan",
        auto=scene.base.settings.approval == "Intent",
    )


# The rest of what ended half-way


def _rests(scene: Scene, records: dict[str, RequestRecord]) -> list[Concern]:
    concerns = []
    for name, record in records.items():
        if not record.finished or record.cancelled or _is_to_come(scene, record):
            continue
        goal = _rest_goal(scene, name, record)
        if goal is not None:
            concerns.append(_rest(records, name, goal))
    return concerns


def _is_to_come(scene: Scene, record: RequestRecord) -> bool:
    """Whether an approved plan has moves for a request that the ledger has not accepted yet."""
    return any(
        move.id > record.highest_move
        for item in scene.approved
        if item.id == record.id and not item.terms.void
        for move in item.moves
    )


def _rest(records: dict[str, RequestRecord], name: str, goal: MoveVms | EmptyNodes) -> Concern:
    what = [str(vm) for vm in goal.vms] if isinstance(goal, MoveVms) else list(goal.nodes)
    return Concern(
        name=concern_name("rest", short_digest(name, 12)),
        intent=goal.request.intent,
        goal=replace(goal, request=_numbered(goal.request, records)),
        observation=digest([name, what, records[name].highest_move]),
        why=f"finish {name}, which ended half-way: {_some(tuple(what))}",
        occurrence=name.split("/")[2] if name.startswith("drain/") else "",
    )


def _rest_goal(scene: Scene, name: str, record: RequestRecord) -> MoveVms | EmptyNodes | None:
    """What of a finished request is left to do; None where nothing is.

    A breach that stands, or a VM that is not home, is a concern anew.
    """
    kind, _, where = name.partition("/")
    if kind == "request":
        return _rest_of_request(scene, name, record)
    if kind == "drain":
        window, _, occurrence = where.partition("/")
        return _rest_of_drain(scene, window, occurrence)
    return None


def _rest_of_request(scene: Scene, name: str, record: RequestRecord) -> MoveVms | None:
    if record.state not in (RequestState.PARTIAL, RequestState.FAILED):
        return None
    counted = (move for _, move in sorted(record.moves.items()) if move.outcome != SUPERSEDED)
    last = {move.vm: move for move in counted}
    bad = (MoveState.FAILED, MoveState.WITHDRAWN)
    left = tuple(sorted(vm for vm, move in last.items() if move.state in bad))
    goals = scene.base.request_goals(scene.problem.snapshot, only=(name,))
    return replace(goals[0], vms=left) if goals and left else None


def _rest_of_drain(scene: Scene, window: str, occurrence: str) -> EmptyNodes | None:
    """The nodes that began and are not empty: a move failed, or a VM came that nobody planned."""
    intent = scene.base.intents.find("MaintenanceWindow", window)
    opening = scene.base.opening(intent) if intent is not None else None
    if intent is None or opening is None or opening.id != occurrence:
        return None
    nodes = fold_nodes(scene.ledger, cluster=scene.cluster, window=window, occurrence=occurrence)
    left = {
        name
        for name, node in nodes.items()
        if node.state is NodeState.DRAINING and scene.facts.instances_on(name)
    }
    goal = scene.base.drain_goal(intent, opening, scene.problem.snapshot)
    if goal is None or not left & set(goal.nodes):
        return None
    return replace(goal, nodes=tuple(node for node in goal.nodes if node in left))


# Words


def _stale_words(stale: list[MoveRecord]) -> str:
    if not stale:
        return ""
    return f"the approved plan no longer keeps the law: {stale[0].reason or 'see the new plan'}"


def _some(names: tuple[str, ...], *, most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def in_cooldown(
    records: dict[str, RequestRecord], vms: Iterable[NamespacedName], *, now: int, seconds: int
) -> tuple[NamespacedName, ...]:
    """The VMs that gitbot moved less than `seconds` ago, sorted."""
    moved = last_moved(records.values())
    return tuple(sorted(vm for vm in vms if vm in moved and now - moved[vm] < seconds))
