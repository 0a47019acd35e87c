"""LoadRules over the measured load of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitbot.constraints.moves.instances import Instance, Instances, bound, pods_that_stay
from gitbot.constraints.rules.load_relief import LoadRelief
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.load_rule.spec import LoadRuleSpec
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import PERCENT, ClusterLoad, percent
from gitbot.model.grouping import grouped
from gitbot.model.text.wording import first_of


def measured(
    asked: Iterable[tuple[Intent, LoadRuleSpec]], snapshot: ClusterSnapshot, load: ClusterLoad
) -> tuple[LoadRelief, ...]:
    """A rule for each LoadRule that finds a node above its threshold; none without load.

    A node without a value is not above anything, and neither is one without VMs of the rule's
    namespaces. Protected VMs stay, and so do those that cannot migrate; these and other pods of
    the node are counted and named.
    """
    hot = [(intent, spec, list(_above(spec, load))) for intent, spec in asked]
    if not any(nodes for _, _, nodes in hot):
        return ()
    pods = grouped(pods_that_stay(snapshot))
    instances = Instances.of(snapshot)
    found = (_rule(intent, spec, nodes, instances, pods) for intent, spec, nodes in hot)
    return tuple(rule for rule in found if rule.hot)


def _above(spec: LoadRuleSpec, load: ClusterLoad) -> Iterator[tuple[str, str]]:
    for node, values in sorted(load.by_node.items()):
        value = values.get(spec.metric)
        if value is None or spec.source not in (None, value.source):
            continue
        if value.amount > spec.above * PERCENT:
            measured = f"{spec.metric} {percent(value.amount)} ({value.source})"
            yield node, f"{node}: {measured} is above {spec.above} %"


def _rule(
    intent: Intent,
    spec: LoadRuleSpec,
    nodes: Sequence[tuple[str, str]],
    instances: Instances,
    pods: Mapping[str, Sequence[NamespacedName]],
) -> LoadRelief:
    wanted = LabelMatcher.of(spec.protected.plain() if spec.protected is not None else None)
    own = [
        item
        for item in instances.values()
        if item.node and (spec.namespaces is None or item.name.namespace in spec.namespaces)
    ]
    free = frozenset(
        item.name for item in own if not bound(item) and not wanted.matches(item.labels)
    )
    hot, here = {}, {}
    for node, words in nodes:
        mine = [item for item in own if item.node == node]
        if mine:
            stuck = [f"{item.name} ({why})" for item in mine if (why := _stays(item, free))]
            stuck += [f"{name} (a pod)" for name in pods.get(node, ())]
            hot[node] = f"{words}{_immovable(stuck)}"
            going = frozenset(item.name for item in mine) & free
            here[node] = going or frozenset(item.name for item in mine if bound(item))
    left = grouped(
        (node, item.name) for item in own if item.others for node in item.places - {item.node}
    )
    return LoadRelief(
        ref=intent.ref,
        hot=hot,
        here=here,
        members=free.union(*here.values()),
        left={node: frozenset(left[node]) for node in hot if node in left},
    )


def _stays(item: Instance, free: frozenset[NamespacedName]) -> str:
    return "" if item.name in free else bound(item) or "protected"


def _immovable(stuck: list[str]) -> str:
    return f"; {len(stuck)} here cannot move: {first_of(stuck, 4)}" if stuck else ""
