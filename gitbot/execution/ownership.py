"""The marks of what is gitbot's own on a cluster: its ledger, and of a cordon its occurrence.

That of a cordon is written and removed in one patch with it, so that a cordon which a person undid
is told from one that was never sent. Other windows open at the same time, and other gitbots on the
cluster may have windows and requests of the same name.
"""

from __future__ import annotations

from gitbot.execution.executor_types import ExecutorInput
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, labels_of
from gitbot.model.ledger.effect_id import label_value
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.text.canonical import short_digest

CORDON_LABEL = "placement.gitbot.dev/cordon"
LEDGER = "placement.gitbot.dev/ledger"


def ledger_mark(ledger: Ledger) -> str:
    """What tells a ledger from others: its first line; "" before there is one."""
    first = next(iter(ledger.events), None)
    return "" if first is None else short_digest(f"{first.file} {first.time}", 10)


def is_of_ledger(migration: KubernetesObject, mark: str) -> bool:
    """Whether it is not another gitbot's; earlier versions wrote no mark."""
    return annotations_of(migration).get(LEDGER, mark) == mark


def mark_of(view: ExecutorInput, occurrence: OccurrenceId) -> str:
    ledger = ledger_mark(view.ledger)
    return label_value(f"{occurrence.window}.{occurrence.id}.{ledger}")


def is_marked(view: ExecutorInput, occurrence: OccurrenceId, node: KubernetesObject) -> bool:
    """Whether gitbot's cordon of an occurrence has reached the node, and gitbot left it there."""
    known = (mark_of(view, occurrence), occurrence.id)  # earlier versions wrote the id alone
    return labels_of(node).get(CORDON_LABEL) in known
