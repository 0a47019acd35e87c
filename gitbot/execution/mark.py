"""The mark of gitbot's cordon: the occurrence that cordoned the node, and its ledger.

It is written and removed in one patch with the cordon itself, so that a cordon which a person undid
is told from one that was never sent. Other windows open at the same time, and other gitbots on the
cluster may have windows of the same name.
"""

from __future__ import annotations

from gitbot.execution.values import View
from gitbot.kubernetes.objects import KubernetesObject, labels_of
from gitbot.model.canonical import short_digest
from gitbot.model.effect import label_value
from gitbot.model.request_id import OccurrenceId

CORDON_LABEL = "placement.gitbot.dev/cordon"


def mark_of(view: View, occurrence: OccurrenceId) -> str:
    first = view.ledger.events[0]
    ledger = short_digest(f"{first.file} {first.time}", 10)
    return label_value(f"{occurrence.window}.{occurrence.id}.{ledger}")


def is_marked(view: View, occurrence: OccurrenceId, node: KubernetesObject) -> bool:
    """Whether gitbot's cordon of an occurrence has reached the node, and gitbot left it there."""
    known = (mark_of(view, occurrence), occurrence.id)  # earlier versions wrote the id alone
    return labels_of(node).get(CORDON_LABEL) in known
