"""BalanceRules over the requests of a snapshot's pods, and the goal of evening out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.constraints.moves.instances import Instances, bound
from gitbot.constraints.rules.imbalance import Imbalance, imbalance
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.balance_rule.spec import BalanceRuleSpec
from gitbot.intents.request_history import RequestHistory
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.problem import ANYWHERE, Balance, MoveVms, Pin, Request


def uneven(
    asked: Iterable[tuple[Intent, BalanceRuleSpec]], snapshot: ClusterSnapshot
) -> tuple[Imbalance, ...]:
    """A rule for each BalanceRule; it judges the nodes with VMs that may go, and empty ones."""
    specs = tuple(asked)
    instances = Instances.of(snapshot) if specs else None
    return tuple(
        imbalance(snapshot, intent.ref, members_of(spec, instances), above=spec.above)
        for intent, spec in specs
        if instances is not None
    )


def members_of(spec: BalanceRuleSpec, instances: Instances) -> frozenset[NamespacedName]:
    """The VMs that may go: of these namespaces, not protected, and live-migratable."""
    return frozenset(_members(spec, instances))


def _members(spec: BalanceRuleSpec, instances: Instances) -> Iterator[NamespacedName]:
    wanted = LabelMatcher.of(spec.protected.plain() if spec.protected is not None else None)
    for item in instances.values():
        if spec.namespaces is not None and item.name.namespace not in spec.namespaces:
            continue
        if item.node and not bound(item) and not wanted.matches(item.labels):
            yield item.name


def even_out(
    spec: BalanceRuleSpec, request: Request, instances: Instances, past: RequestHistory
) -> MoveVms:
    """VMs of the rule move, few at a time. None goes back to a node that it left for the rule."""
    vms = tuple(sorted(members_of(spec, instances)))
    left = past.left.get(request.id, {})
    return MoveVms(
        request=request,
        vms=vms,
        target=ANYWHERE,
        pin=Pin.NODE,
        balance=Balance(
            most=spec.max_moves,
            left={vm: left[uid] for vm in vms if (uid := instances[vm].uid) in left},
        ),
    )
