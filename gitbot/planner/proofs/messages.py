"""Proofs in words: who needs how much, what which nodes have, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.scheduling import HOSTNAME, ZONE
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import first_of
from gitbot.planner.proofs.capacity_model import CapacityModel, DomainLimit
from gitbot.planner.proofs.shortage import Shortage
from gitbot.planner.reasons import labels_wanted

_BYTES = ("memory", "ephemeral-storage")
_DOMAINS = {ZONE: "zone", HOSTNAME: "node"}
_FEW = 3


def room_words(
    ground: CapacityModel,
    mask: Mask,
    vms: Sequence[NamespacedName],
    short: Shortage,
    *,
    crowd: DomainLimit | None = None,
    needed: int = 0,
) -> tuple[str, str]:
    """Reason and remedy: these nodes lack room for these VMs, or for `needed` of a crowd.

    The remedy is the least that every plan needs. Rules, and the order of moves, may need more.
    """
    nodes, label = _nodes(ground, mask, vms)
    who = _who(vms)
    if crowd is not None:
        who = f"{needed} of {who} must be there ({_rule(crowd)}), and {needed}"
    ask = "asks" if len(vms) == 1 or needed == 1 else "ask"
    beside = (
        f" beside {_count(short.beside, 'VM')} that can be nowhere else" if short.beside else ""
    )
    if short.unit == 1:
        wanted, there = _amount(short.resource, short.wanted), _free(short)
        have = "has" if mask.sum() == 1 else "have"
        over = int(np.maximum(-ground.board.room(short.resource)[mask], 0).max(initial=0))
        over = over if mask.sum() == 1 else 0  # of several nodes, another may grow
        lack = _amount(short.resource, short.wanted - short.there + over)
        reason = f"{who} {ask} {wanted} {short.resource}; {nodes} {have} {there}{beside}"
        return reason, f"at least {lack} more {short.resource} is needed on {label}"
    unit = _amount(short.resource, short.unit)
    if len(vms) == 1 and short.wanted == 1:
        reason = f"{who} {ask} {unit} {short.resource}; none of {nodes} can have that free{beside}"
        return reason, f"at least {unit} {short.resource} must be free on one of {label}"
    reason = (
        f"{who} need {_count(short.wanted, 'place')} of {unit} {short.resource};"
        f" {nodes} can have {max(0, short.there)}{beside}, however they are filled"
    )
    more = short.wanted - short.there
    places, be = ("one more place", "is") if more == 1 else (f"{more} more places", "are")
    return reason, f"{places} of {unit} {short.resource} {be} needed among {label}"


def apart_words(
    crowd: DomainLimit, members: int, values: Sequence[str], more: int
) -> tuple[str, str]:
    """Reason and remedy: more VMs than the domains may hold, and so many more would do."""
    word = _DOMAINS.get(crowd.key, f"value of {crowd.key}")
    reason = (
        f"{_count(members, 'VM')}, {_count(len(values), word)} for them"
        f" ({first_of(values, _FEW)}): {_rule(crowd)} allows {crowd.most} in each"
    )
    soften = f"enforcement: Preferred in {crowd.rule.ref.where}"
    if crowd.rule.ref.of_vm:
        soften = "preferred instead of required anti-affinity in the VMs' specs"
    soften = f", or {soften}" if crowd.rule.required else ""
    return reason, f"{_more_domains(crowd, more)} that may take them{soften}"


def _more_domains(crowd: DomainLimit, count: int) -> str:
    if crowd.key == HOSTNAME:
        return "another node" if count == 1 else f"{count} more nodes"
    if count == 1:
        return f"a node in another {_DOMAINS.get(crowd.key, f'value of {crowd.key}')}"
    plural = f"{_DOMAINS[crowd.key]}s" if crowd.key in _DOMAINS else f"values of {crowd.key}"
    return f"nodes in {count} more {plural}"


def clash_words(
    asking: IntentRef, wanted: frozenset[str], other: IntentRef, told: str
) -> tuple[str, str]:
    """Two intents that contradict each other, each with its file and line."""
    nodes = first_of(sorted(wanted), _FEW)
    reason = f"{_intent(asking)} asks for {nodes}, but {_intent(other)} {told} {nodes}"
    return reason, f"change {asking.where} or {other.where}"


def together_words(rules: Sequence[IntentRef], vms: Sequence[NamespacedName]) -> tuple[str, str]:
    """Rules of which no placement of the VMs keeps all."""
    listed = [_intent(ref) if not ref.of_vm else f"{ref.name}'s own terms" for ref in rules]
    if len(listed) == 1:
        return f"no placement of {_who(vms)} keeps {listed[0]}", f"change {rules[0].where}"
    both = "both" if len(listed) == 2 else "all"
    reason = f"{' and '.join(listed)} cannot {both} hold for {_who(vms)}"
    return reason, f"change {' or '.join(ref.where for ref in rules)}"


def keeps_words(ref: IntentRef, vms: Sequence[NamespacedName], wanted: str) -> str:
    """A rule that keeps VMs on some nodes."""
    return f"{_intent(ref)} keeps {_who(vms)} on {wanted}"


def empties_words(ref: IntentRef, nodes: Sequence[str]) -> str:
    """A window that closes nodes."""
    return f"{_intent(ref)} empties {first_of(nodes, _FEW)}"


def beside_words(
    reason: str, remedy: str, others: Sequence[tuple[IntentRef, str]]
) -> tuple[str, str]:
    """Reason and remedy of a proof that rests on other intents as well."""
    if not others:
        return reason, remedy
    told = "; ".join(words for _, words in others[:_FEW])
    more = f"; and {len(others) - _FEW} more" if len(others) > _FEW else ""
    places = " or ".join(dict.fromkeys(ref.where for ref, _ in others[:_FEW]))
    return f"{reason}; {told}{more}", f"{remedy}, or change {places}"


def _rule(crowd: DomainLimit) -> str:
    return "the VMs' own anti-affinity" if crowd.rule.ref.of_vm else _intent(crowd.rule.ref)


def _intent(ref: IntentRef) -> str:
    return f"{ref.id} ({ref.where})" if ref.file else ref.id


def _nodes(ground: CapacityModel, mask: Mask, vms: Sequence[NamespacedName]) -> tuple[str, str]:
    """The nodes in words, and what such a node is."""
    names = [ground.board.nodes[number] for number in np.flatnonzero(mask)]
    labels = sorted({labels_wanted(ground.board, vm) for vm in vms} - {""})
    which = f" with {labels[0]}" if len(labels) == 1 else ""
    if len(names) == 1:
        told = f" ({labels[0]})" if len(labels) == 1 else ""
        return f"{names[0]}, the only node for it{told}," if len(vms) == 1 else names[0], names[0]
    if len(names) <= _FEW:
        return f"{' and '.join(names)}", f"{' or '.join(names)}"
    return f"the {len(names)} nodes{which} that may take them", f"nodes{which or ' that are open'}"


def _who(vms: Sequence[NamespacedName]) -> str:
    return first_of([vm.name for vm in vms], _FEW) if len(vms) <= _FEW else f"{len(vms)} VMs"


def _free(short: Shortage) -> str:
    return "none" if short.there <= 0 else _amount(short.resource, short.there, up=False)


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _amount(resource: str, amount: int, *, up: bool = True) -> str:
    """9.5Gi, 2500m or 7; what is needed is rounded up, what is there down, to a tenth."""
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return str(amount)
    for unit, name in ((1024**3, "Gi"), (1024**2, "Mi"), (1024, "Ki")):
        if amount >= unit:
            tenths = -(-amount * 10 // unit) if up else amount * 10 // unit
            return f"{tenths // 10}.{tenths % 10}{name}".replace(".0", "")
    return str(amount)
