"""Labels below placement.gitbot.dev/: what gitbot renders compared with what the cluster has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.intents import IntentSet
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.effect import label_value
from gitbot.model.findings import Finding, Severity
from gitbot.model.manifest import Manifest
from gitbot.model.objects import KubernetesObject, labels_of, name_of

PREFIX = "placement.gitbot.dev/"
WINDOW = f"{PREFIX}window"


def label_findings(
    manifests: Iterable[Manifest], snapshot: ClusterSnapshot, intents: IntentSet
) -> tuple[Finding, ...]:
    """Warnings about rendered objects that live with other labels, and about labels left over."""
    rendered = tuple(manifests)
    live = {
        (kind, name_of(obj)): obj
        for kind in {manifest.kind for manifest in rendered}
        for obj in snapshot.of(kind)
    }
    found = [
        finding
        for manifest in rendered
        if (obj := live.get((manifest.kind, name_of(manifest.object)))) is not None
        for finding in _differing(manifest, obj)
    ]
    return (*found, *_left_over(snapshot, intents))


def _differing(manifest: Manifest, live: KubernetesObject) -> Iterator[Finding]:
    have = labels_of(live)
    for key, value in sorted(labels_of(manifest.object).items()):
        # a node gets its labels with the first move: only another value is a difference there
        if key in have and have[key] != value and not key.endswith("/state"):
            yield _warning(
                f"{manifest.kind} {manifest.name} has the label {key}={have[key]}, "
                f"expected {value}",
                "somebody else wrote it; remove it, or end what it belongs to",
            )


def _left_over(snapshot: ClusterSnapshot, intents: IntentSet) -> Iterator[Finding]:
    windows = {label_value(intent.ref.name) for intent, _ in intents.maintenance_windows}
    for node in snapshot.of("Node"):
        value = labels_of(node).get(WINDOW)
        if value is not None and value not in windows:
            name = name_of(node).name
            yield _warning(
                f"node {name} has the label {WINDOW}={value}, and there is no such window",
                f"kubectl label node {name} {PREFIX}window- {PREFIX}state-",
            )


def _warning(message: str, hint: str) -> Finding:
    return Finding(code="check/labels", severity=Severity.WARNING, message=message, hint=hint)
