"""FreezeWindows to the VMs and times that gitbot must not touch."""

from __future__ import annotations

from gitbot.constraints.moves.instances import Instances
from gitbot.intents.allowed_times import HORIZON, openings
from gitbot.intents.holidays import freeze_times
from gitbot.intents.intent import IntentSet
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.machine_labels import machine_label_findings
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.findings import Finding, sort_key
from gitbot.model.plan.problem import Freeze


def compile_freezes(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    *,
    now: int,
    zone: str | None = None,
) -> tuple[tuple[Freeze, ...], tuple[Finding, ...]]:
    """Freezes that are open or still to come, for the VMs of the snapshot, in order of refs."""
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    freezes: list[Freeze] = []
    findings: list[Finding] = []
    for intent, spec in intents.freeze_windows:
        if spec.selector is not None:
            path = ("spec", "selector")
            findings += machine_label_findings(intent, path, spec.selector.plain(), instances)
        vms = _frozen(spec, instances)
        if spec.calendar is None:
            times = openings(spec.schedule, zone=zone, now=now)
        else:
            ahead = freeze_times(intent, spec, zone=zone, after=now, before=now + HORIZON)
            times = ahead or ()
        if vms and times:
            freezes.append(
                Freeze(intent=intent.ref, vms=vms, times=times, reason=spec.reason or "")
            )
    freezes.sort(key=lambda each: each.intent)
    return tuple(freezes), tuple(sorted(findings, key=sort_key))


def _frozen(spec: FreezeWindowSpec, instances: Instances) -> frozenset[NamespacedName]:
    wanted = LabelMatcher.of(spec.selector.plain() if spec.selector is not None else {})
    return frozenset(instances.by_label.matching(wanted, spec.namespaces))
