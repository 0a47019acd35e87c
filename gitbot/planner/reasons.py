"""The smallest set of reasons why no node takes a VM, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from gitbot.constraints.scheduler.filters.node_unschedulable import BY_THEN
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.kubernetes.selectors import NodeMatcher, Requirement
from gitbot.kubevirt.names import CREATED_BY, SCHEDULABLE
from gitbot.kubevirt.source_node import NOT_ANSWERING, deletion_of, handler_is_lost_at, lost_of
from gitbot.model.cluster.scheduling import HOSTNAME, ZONE, AffinityTerm
from gitbot.model.plan.plan import NodeReasons
from gitbot.model.plan.problem import EmptyNodes
from gitbot.model.text.wording import first_of
from gitbot.planner.plan_types import Blocker, TargetPolicy
from gitbot.planner.state.plan_state import PlanState

_CLOSED = "closed"
_LOST = "lost"
_LANDING = "landing"
_COMPANY = "company"
_CORDONED_LATER = "cordoned-later"
_NO_VMS = "NodeAffinity of KubeVirt"  # sorts beside the other labels, so before a lack of room
_MOST_KINDS = 3
_WORDS = {
    "NodeUnschedulable": ("is cordoned", "are cordoned"),
    _CORDONED_LATER: ("will be cordoned by then", "will be cordoned by then"),
    "TaintToleration": (
        "has a taint that it does not tolerate",
        "have taints that it does not tolerate",
    ),
    "NodeResourcesFit": ("has too little room", "have too little room"),
    "NodeAffinity": ("lacks {labels}", "lack {labels}"),
    _NO_VMS: (f"has no {SCHEDULABLE}=true", f"have no {SCHEDULABLE}=true"),
    "InterPodAffinity": ("holds what it must be apart from", "hold what it must be apart from"),
    _COMPANY: ("lacks the pods that it must be near", "lack the pods that it must be near"),
    "PodTopologySpread": ("is ruled out by topology spread", "are ruled out by topology spread"),
    _CLOSED: ("is to be emptied", "are to be emptied"),
    _LOST: ("does not answer", "do not answer"),
}
_DOMAINS = {ZONE: "zone", HOSTNAME: "node", "topology.kubernetes.io/region": "region"}
_WIDE = _DOMAINS.keys() - {HOSTNAME}

_DROPPED = "KubeVirt would silently drop the selector; choose nodes that the VM itself allows"


def summary(
    board: PlanState, vm: NamespacedName, wish: TargetPolicy, nodes: tuple[NodeReasons, ...]
) -> Blocker:
    """One line on why no node takes the VM, what would help, and until when it may help itself."""
    found = _summary(board, vm, wish, nodes)
    back, until = _silent(board, vm, wish, nodes)
    if not until:
        return found
    again = f"plan again when {back} answers"
    return replace(found, until=until, hint="; ".join(filter(None, (again, found.hint))))


def _silent(
    board: PlanState, vm: NamespacedName, wish: TargetPolicy, nodes: tuple[NodeReasons, ...]
) -> tuple[str, int]:
    """A wanted node that takes the VM but for a silence that Kubernetes still tolerates.

    With it the instant at which Kubernetes would give up a pod of this VM there, or KubeVirt the
    node's virt-handler: it may be restarting until then. ("", 0) if there is none.
    """
    wanted = board.facts.matching(wish.target) - {board.place(vm)}
    instances, known = board.transit.instances, board.facts.nodes
    pod = instances[vm].source_pod
    quiet = (
        (item.node, known[item.node])
        for item in nodes
        if item.node in wanted and all(_of_silence(line, wish) for line in item.reasons)
    )
    ended = (
        (
            deletion_of(node, pod)
            if lost_of(node)
            else handler_is_lost_at(node, instances.handlers.get(name)),
            name,
        )
        for name, node in quiet
    )
    found = [item for item in ended if item[0] > board.facts.problem.now]
    ends, node = min(found, default=(0, ""))
    return node, ends


def _of_silence(line: str, wish: TargetPolicy) -> bool:
    kind = _kind(line, wish)
    taint = kind == "TaintToleration" and any(f"{key}:" in line for key in NOT_ANSWERING)
    return kind in (_LOST, _NO_VMS) or taint


def _summary(
    board: PlanState, vm: NamespacedName, wish: TargetPolicy, nodes: tuple[NodeReasons, ...]
) -> Blocker:
    wanted = board.facts.matching(wish.target) - {board.place(vm)}
    if not wanted:
        return Blocker(code="no-such-node", reason="no other node is among those asked for")
    said = {item.node: item.reasons for item in nodes if item.node in wanted}
    collision = _collision(board, vm, wish, wanted)
    if collision:
        return Blocker(code="selector-collision", reason=collision, hint=_DROPPED)
    loose = [lines[0] for lines in said.values() if _kind(lines[0], wish) == _LANDING]
    if loose:
        return Blocker(code="unsafe-landing", reason=loose[0])
    if len(said) == 1:
        ((node, lines),) = said.items()
        hint = _bound_by(board, vm) if _kind(lines[0], wish) == _COMPANY else ""
        reason = f"{node} does not take it: {lines[0]}"
        return Blocker(code="no-feasible-node", reason=reason, hint=hint)
    kinds = _fewest({node: {_kind(line, wish) for line in lines} for node, lines in said.items()})
    short = _no_free_domain(board, vm, kinds) if wish.target.anywhere else None
    return short or _counted(board, vm, wish, said, kinds)


def _collision(
    board: PlanState, vm: NamespacedName, wish: TargetPolicy, wanted: frozenset[str]
) -> str:
    asked = wish.target.node_selector
    pins = [board.transit.selector(wish.pin, node, wish.target) for node in sorted(wanted)]
    found = [board.collision(vm, {**asked, **pin}) for pin in pins]
    return found[0] if all(found) else ""


def _kind(line: str, wish: TargetPolicy) -> str:
    """The plugin or rule behind a line. Three kinds of line have their own name."""
    if line in wish.closed.values():
        return _CLOSED if line.endswith("empties this node") else _LOST
    if line.startswith("the scheduler may also choose"):
        return _LANDING
    if line.endswith(BY_THEN):
        return _CORDONED_LATER
    plugin = line.partition(":")[0]
    if plugin == "NodeAffinity" and SCHEDULABLE in line:
        return _NO_VMS  # KubeVirt asks for this label, not the VM
    lonely = plugin == "InterPodAffinity" and "already holds" not in line
    return _COMPANY if lonely else plugin


def _fewest(said: Mapping[str, set[str]]) -> tuple[str, ...]:
    """The fewest kinds that together rule out every node; among several, the first by name."""
    kinds = sorted(set().union(*said.values()), key=lambda kind: (kind not in _WORDS, kind))
    for count in range(1, _MOST_KINDS + 1):
        for chosen in combinations(kinds, count):
            if all(not heard.isdisjoint(chosen) for heard in said.values()):
                return chosen
    return tuple(kinds)


def _counted(
    board: PlanState,
    vm: NamespacedName,
    wish: TargetPolicy,
    said: Mapping[str, Sequence[str]],
    kinds: Sequence[str],
) -> Blocker:
    left = dict(sorted(said.items()))
    parts = []
    for kind in kinds:
        lines = {
            node: next(line for line in heard if _kind(line, wish) == kind)
            for node, heard in left.items()
            if any(_kind(line, wish) == kind for line in heard)
        }
        if lines:
            parts.append(_part(board, vm, kind, lines))
            left = {node: heard for node, heard in left.items() if node not in lines}
    hint = "gitbot explain says it node by node"
    if _COMPANY in kinds and (bound := _bound_by(board, vm)):
        hint = bound
    if _CLOSED in kinds:
        drains = (goal for goal in board.facts.problem.goals if isinstance(goal, EmptyNodes))
        back = "a node of the drain that is back takes VMs again"
        if any(goal.together for goal in drains):
            back = "when all nodes of the drain are back, they take VMs again"
        hint = f"{back}: plan again then; {hint}"
    scope = "no node" if wish.target.anywhere else "no node of the target"
    return Blocker(
        code="no-feasible-node",
        reason=f"{scope} takes it: {', '.join(parts)}",
        hint=hint,
    )


def _bound_by(board: PlanState, vm: NamespacedName) -> str:
    """What a person does about a VM whose own spec ties it to pods on its node; "" if none does.

    The scheduler wants them on the target before the VM's own pod (kube-scheduler,
    plugins/interpodaffinity/filtering.go, satisfyPodAffinity), so each waits for the other.
    """
    pod, here, world = board.transit.target_pod(vm), board.place(vm), board.transit.world
    labels_of = world.state.facts.labels_of_namespace
    terms = [term for term in pod.affinity.required_pods if term.topology_key == HOSTNAME]
    near = [
        other
        for other in world.pods_on(here)
        if other.labels.get(CREATED_BY) != pod.labels.get(CREATED_BY)
        and any(
            term.selector.matches(other.labels)
            and term.reaches(other.namespace, labels_of(other.namespace))
            for term in terms
        )
    ]
    if not near:
        return ""
    names = first_of(sorted(str(other.name) for other in near), 3)
    fixed = [other for other in near if CREATED_BY not in other.labels]
    way = (
        f"delete the pod that does not migrate ({first_of(sorted(str(p.name) for p in fixed), 3)})"
        if fixed
        else "write a PlacementRule with that affinity instead, which moves them as one"
    )
    return (
        f"its own spec ties it to {names} on {here}, and no live migration moves one before the"
        f" other: its owner takes that affinity out, or stops both; {way}"
    )


def _part(board: PlanState, vm: NamespacedName, kind: str, lines: Mapping[str, str]) -> str:
    """`3 nodes lack performance=high`; for a single node or an unknown kind, its own words."""
    count = len(lines)
    node, line = next(iter(lines.items()))
    if kind not in _WORDS:
        return f"{node}: {line}" if count == 1 else f"{count} nodes as {node}: {line}"
    one, many = _WORDS[kind]
    text = (one if count == 1 else many).format(labels=labels_wanted(board, vm) or "a label")
    detail = f" ({node}: {line.partition(': ')[2]})" if kind == "NodeResourcesFit" else ""
    return f"{node if count == 1 else f'{count} nodes'} {text}{detail}"


def labels_wanted(board: PlanState, vm: NamespacedName) -> str:
    """What the VM itself demands of nodes, as `performance=high`; "" if nothing."""
    spec = at(board.facts.vmis.get(vm, {}), "spec", default={})
    found = [f"{key}={value}" for key, value in sorted((spec.get("nodeSelector") or {}).items())]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = at(spec, "affinity", "nodeAffinity", required, "nodeSelectorTerms", default=())
    listed = [
        " and ".join(_label(item) for item in NodeMatcher.of(term).expressions) for term in terms
    ]
    return " and ".join([*found, *([" or ".join(listed)] if listed else [])])


def _label(item: Requirement) -> str:
    if item.operator == "In" and len(item.values) == 1:
        return f"{item.key}={item.values[0]}"
    return item.words


def _no_free_domain(board: PlanState, vm: NamespacedName, kinds: Sequence[str]) -> Blocker | None:
    """Only a stand-by node heals this case: every domain with a fitting node is taken."""
    rules = [
        rule
        for rule in board.facts.rules_over(vm)
        if rule.maximum is not None and rule.required and rule.ref.id in kinds
    ]
    maximum = rules[0].maximum if rules else None
    terms = board.transit.target_pod(vm).affinity.required_anti
    own = [term for term in terms if term.topology_key in _WIDE]
    plain = {
        "NodeAffinity",
        "NodeUnschedulable",
        "TaintToleration",
        _CORDONED_LATER,
        _NO_VMS,
        _CLOSED,
        _LOST,
    }
    spread = {rule.ref.id for rule in rules} | ({"InterPodAffinity"} if own else set())
    if not spread & set(kinds) or not set(kinds) <= spread | plain:
        return None
    key = maximum.topology_key if maximum is not None else own[0].topology_key
    who = rules[0].ref.name if rules else _who(own[0]) or vm.name
    domain = _DOMAINS.get(key, key)
    labels = labels_wanted(board, vm)
    node = f"a {labels} node" if labels else "a node that takes it"
    at_node = board.place(vm)
    here = board.facts.label(at_node, key)
    if rules:
        here = rules[0].room_for(vm, at_node, board.transit.occupancy)
    standby = f"a stand-by node with {labels}" if labels else "a stand-by node"
    where = "" if key == HOSTNAME else f" in {f'{domain} {here}' if here else f'another {domain}'}"
    hint = f"{standby}{where} would do"
    if not rules:
        hint += (
            ", with mismatchLabelKeys [kubevirt.io/created-by] in the VM's own anti-affinity,"
            " as its own pod counts too"
        )
    return Blocker(
        code="no-free-domain",
        reason=f"no free {domain} with {node} for {who}",
        hint=f"{hint}; or override it: leave the VM where it is",
    )


def _who(term: AffinityTerm) -> str:
    """The one label value that an anti-affinity term is about; "" if there is no such value."""
    values = [value for item in term.selector.requirements for value in item.values]
    return values[0] if len(values) == 1 else ""
