"""What the cluster's scheduler does that no verdict here follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitbot.audit.finding import AuditFinding, about
from gitbot.constraints.scheduler.profiles import profiles_of
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.findings import Severity


def unjudged_profiles(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    for part in profiles_of(snapshot).unjudged:
        found = about(
            "audit/scheduler-profile",
            Severity.WARNING,
            kind="KubeSchedulerConfiguration",
            name=NamespacedName(namespace="", name=part.file),
            message=part.words,
            hint="verdicts and predictions may differ from those of kube-scheduler",
        )
        placed = replace(found.finding, file=part.file, line=part.line)
        yield replace(found, finding=placed)
