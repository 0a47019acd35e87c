"""Which VMs could relieve which overloaded node, and which of its VMs cannot move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitbot.audit.descheduler import (
    RELIEVE,
    Classification,
    Utilization,
    classify,
)
from gitbot.audit.descheduler_policy import policies_in
from gitbot.audit.finding import AuditFinding, about, about_vm
from gitbot.constraints.explanation import Explainer, Explanation
from gitbot.constraints.load.measures import loads_of
from gitbot.constraints.load.ranking import Ranking
from gitbot.constraints.moves.instances import Instance, bound, pods_that_stay
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubevirt.eviction import eviction_words
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad, percent
from gitbot.model.plan.findings import Severity
from gitbot.model.text.wording import first_of

_SCORE = "LoadVariationRiskBalancing"
_GIVE = "give --metrics FILE, or write load for the cluster in the configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadQuestion:
    """The load that is not stale, and the policies of a descheduler, if given."""

    load: ClusterLoad
    policies: tuple[Utilization, ...] = ()


def load_findings(snapshot: ClusterSnapshot, asked: LoadQuestion) -> Iterator[AuditFinding]:
    """Over- and under-utilised nodes: VMs that could leave, their targets, and the other VMs."""
    for words in asked.load.missing:
        yield _of_node("audit/load-missing", Severity.NOTE, "", words, "nothing is guessed")
    ranking = Ranking(
        names=frozenset((_SCORE,) if asked.load.values else ()), loads=loads_of(asked.load)
    )
    explainer = Explainer(snapshot, ranking)
    for policy in asked.policies or policies_in(snapshot) or (RELIEVE,):
        found = classify(policy, snapshot, asked.load)
        for item in found.of("under"):
            words = f"{policy.name}: under-utilised: {item.words}"
            yield _of_node("audit/utilisation", Severity.NOTE, item.node, words, "")
        if found.unknown:
            words = f"{policy.name}: not classified, as a value is missing: "
            listed = first_of(found.unknown, 5)
            yield _of_node("audit/load-missing", Severity.NOTE, "", words + listed, _GIVE)
        for item in found.of("over"):
            here = [
                explainer.instances[vm] for vm in explainer.instances.on_node.get(item.node, ())
            ]
            left = [policy.leaves(vm.source_pod or {}) for vm in here]
            says = _would(policy, found, left[0] if left and all(left) else "")
            words = f"{policy.name}: over-utilised: {item.words}{says}"
            hint = "relieve it by the VMs below"
            yield _of_node("audit/utilisation", Severity.WARNING, item.node, words, hint)
            yield from _relief(snapshot, explainer, policy, item.node, found, asked.load)


def _would(policy: Utilization, found: Classification, left: str) -> str:
    """What the descheduler does there; `left` is why it leaves all VMs of the node, "" if not."""
    if found.idle:
        return f"; it would evict nothing: {found.idle}"
    if policy is RELIEVE:
        return ""
    if policy.acts and left:
        return f"; it evicts no VM from here: {left}"
    rests = f", each again {policy.cooldown} after a migration" if policy.cooldown else ""
    if policy.acts:
        return f"; it evicts VMs from here{rests}"
    return "; mode Predictive: it evicts nothing"


def _relief(  # noqa: PLR0917 - one question of one node
    snapshot: ClusterSnapshot,
    explainer: Explainer,
    policy: Utilization,
    node: str,
    found: Classification,
    load: ClusterLoad,
) -> Iterator[AuditFinding]:
    crowded = {item.node for item in found.of("over")}
    stuck: list[str] = []
    for vm in explainer.instances.on_node.get(node, ()):
        item = explainer.instances[vm]
        if why := bound(item):
            stuck.append(f"{vm} ({why})")
            continue
        answer = explainer.vm(vm)
        targets = [name for name in answer.judgement.feasible if name not in crowded | {node}]
        if not targets:
            stuck.append(f"{vm} (no node that is not over-utilised takes it)")
            continue
        yield _move(explainer, item, answer, targets, crowded, load=load, policy=policy)
    stuck += [f"{name} (a pod)" for place, name in pods_that_stay(snapshot) if place == node]
    if stuck:
        words = f"{len(stuck)} here cannot move: {first_of(stuck, 4)}"
        yield _of_node("audit/immovable", Severity.NOTE, node, words, "their load stays")


def _move(
    explainer: Explainer,
    item: Instance,
    answer: Explanation,
    targets: Sequence[str],
    crowded: set[str],
    *,
    load: ClusterLoad,
    policy: Utilization,
) -> AuditFinding:
    totals = {score.node: score.total for score in answer.scores}
    best = min(targets, key=lambda name: (-totals.get(name, 0), name))
    measured = load.of(best).get("cpu")
    about_best = f" (cpu {percent(measured.amount)})" if measured is not None else ""
    words = f"could relieve {item.node}: best target {best}{about_best}, {len(targets)} possible"
    plain = {score.node: score.total - score.scores.get(_SCORE, 0) for score in answer.scores}
    overfull = sorted(name for name in crowded & plain.keys() if plain[name] == max(plain.values()))
    source = item.source_pod or {}
    left = policy.leaves(source)
    if policy.acts and overfull and item.vmi is not None and not left:
        evicted = eviction_words(item.vmi, explainer.instances.kubevirt)
        words += f"; evicted by the descheduler ({evicted}) it may land on {overfull[0]}, also over"
    if left:
        words += f"; the descheduler leaves it ({left})"
    if item.name.namespace in policy.excluded:
        words += "; the descheduler leaves its namespace"
    return about_vm(
        "audit/relief",
        Severity.NOTE,
        item.name,
        node=item.node,
        message=words,
        hint=f"gitbot move vm/{item.name.name} -n {item.name.namespace} --to {best}",
    )


def _of_node(code: str, severity: Severity, node: str, message: str, hint: str) -> AuditFinding:
    name = NamespacedName(namespace="", name=node)
    return about(code, severity, kind="Node", name=name, message=message, hint=hint, node=node)
