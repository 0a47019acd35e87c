"""The audit of one snapshot with the intents of a revision, and the part of it that was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gitbot.audit import (
    AuditFinding,
    Departure,
    LoadQuestion,
    audit_cluster,
    load_findings,
    of_finding,
    uncompared,
)
from gitbot.calendar import format_duration
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.unread_rule import UnreadRule
from gitbot.constraints.rules.vm_spec_rules import terms_in_doubt
from gitbot.intents import IntentSet
from gitbot.intents.compile import compile_rules, nodes_of, opening_of
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, labels_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.cluster.cluster import ADDS_NAMESPACES, ClusterSnapshot
from gitbot.model.ledger.events import OBSERVATIONS, ConcernState
from gitbot.model.ledger.ledger import Ledger, concern_of
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.names import CONFIGURATION_FILE, IntentRef
from gitbot.model.text.wording import first_of
from gitbot.planner import is_answer, unplanned
from gitbot.workflows.audit.audit_record import dated, standing_since
from gitbot.workflows.core.judged_plan import ANSWER_WITHOUT, fault_findings
from gitbot.workflows.core.revision import Revision
from gitbot.workflows.ledger.request_history import request_history
from gitbot.workflows.propose import heal_concern


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """What to show of an audit. Empty fields ask for everything.

    `rule` is an intent's id, namespace/name or name, or the code of a finding. `since` leaves out
    what is known to be older.
    """

    namespace: str = ""
    labels: LabelMatcher | None = None
    rule: str = ""
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """The VirtualMachines of Git with their files; `unread` says which manifests are not there."""

    machines: tuple[tuple[str, KubernetesObject], ...] = ()
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = (
        f"manifests in Git: not configured (manifests in {CONFIGURATION_FILE})",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """Sorted findings. `unasked` says in words what was not looked at, so that it is not clean."""

    cluster: str
    now: int
    taken_at: int
    snapshot: str
    findings: tuple[AuditFinding, ...]
    unasked: tuple[str, ...] = ()

    def counts(self) -> Mapping[Severity, int]:
        amounts = dict.fromkeys(Severity, 0)
        for item in self.findings:
            amounts[item.finding.severity] += 1
        return amounts


def run_audit(
    snapshot: ClusterSnapshot,
    *,
    now: int,
    revision: Revision | None = None,
    ledger: Ledger | None = None,
    manifests: Manifests | None = None,
    query: AuditQuery | None = None,
    load: LoadQuestion | None = None,
) -> AuditResult:
    """Without a revision, what the cluster itself declares; load only if it is asked for.

    If gitbot contradicts itself, the fault is the finding, whatever was asked for.
    """
    try:
        return _audited(
            snapshot,
            now=now,
            revision=revision,
            ledger=ledger or Ledger(),
            manifests=manifests or Manifests(),
            asked=query or AuditQuery(),
            load=load,
        )
    except Exception as error:
        if is_answer(error):
            raise
        faults = fault_findings((unplanned(snapshot, error),), ANSWER_WITHOUT)
        ref = IntentRef(kind="Cluster", namespace="", name=snapshot.cluster)
        return AuditResult(
            cluster=snapshot.cluster,
            now=now,
            taken_at=snapshot.taken_at,
            snapshot=snapshot.digest,
            findings=tuple(
                replace(
                    of_finding(replace(item, message=f"{item.message}; {item.hint}", hint=""), ref),
                    rule="",
                )
                for item in faults  # tables show no hints
            ),
        )


def _in_doubt(snapshot: ClusterSnapshot) -> Iterator[str]:
    if doubtful := [str(name) for name in terms_in_doubt(Instances.of(snapshot))]:
        words = f"the namespaceSelector of {first_of(doubtful, 3)}: no Namespace was read"
        yield f"{words} ({ADDS_NAMESPACES})"


def _unread(rules: Iterable[RuleConstraint]) -> Iterator[str]:
    for rule in rules:
        if isinstance(rule, UnreadRule):
            yield f"{rule.reason} ({ADDS_NAMESPACES})"


def _audited(
    snapshot: ClusterSnapshot,
    *,
    now: int,
    revision: Revision | None,
    ledger: Ledger,
    manifests: Manifests,
    asked: AuditQuery,
    load: LoadQuestion | None,
) -> AuditResult:
    found: list[AuditFinding] = []
    unasked = [*_in_doubt(snapshot)]
    if revision is None:
        unasked.append("rules of intents, and manifests: there is no repository here")
        found += audit_cluster(snapshot)
    else:
        instances = Instances.of(snapshot)
        rules, compiled = compile_rules(revision.intents, instances)
        unasked += _unread(rules)
        seen = _observed(revision.intents, ledger, revision.cluster)
        known = standing_since(ledger, revision.cluster)
        found += audit_cluster(
            snapshot,
            rules,
            observed=seen,
            departures=departures(revision, instances, ledger, now=now),
            manifests=manifests.machines,
        )
        unasked += (*manifests.unread, *uncompared(instances, manifests.machines))
        found += (_of_file(item) for item in manifests.findings)
        found += (_of_intent(item, revision.intents) for item in compiled)
        found = [dated(item, known) for item in found]
    found += load_findings(snapshot, load) if load is not None else ()
    labels = _labels(snapshot) if asked.labels is not None else {}
    return AuditResult(
        cluster=snapshot.cluster,
        now=now,
        taken_at=snapshot.taken_at,
        snapshot=snapshot.digest,
        findings=tuple(
            sorted(
                (item for item in found if _wanted(item, asked, labels)),
                key=lambda item: item.order,
            )
        ),
        unasked=tuple(unasked),
    )


def _observed(intents: IntentSet, ledger: Ledger, cluster: str) -> dict[str, int]:
    """Since when the ledger's observations have a rule as broken, by the rule's id."""
    since: dict[str, int] = {}
    for event in ledger.concerns(cluster):
        name = concern_of(event)
        if event.state is ConcernState.GONE:
            since.pop(name, None)
        elif event.state in OBSERVATIONS:  # others may come after it was clean again
            since.setdefault(name, event.time)
    names = {intent.ref.id: heal_concern(intent.ref) for intent in intents.intents if since}
    return {rule: since[name] for rule, name in names.items() if name in since}


def _of_intent(finding: Finding, intents: IntentSet) -> AuditFinding:
    """A finding of compiling, with the intent that starts at or before its line."""
    before = [
        intent.ref
        for intent in intents.intents
        if intent.ref.file == finding.file and intent.ref.line <= finding.line
    ]
    unknown = IntentRef(kind="Intent", namespace="", name=finding.file)
    return of_finding(finding, max(before, key=lambda ref: ref.line, default=unknown))


def _of_file(finding: Finding) -> AuditFinding:
    return of_finding(finding, IntentRef(kind="File", namespace="", name=finding.file))


def _labels(snapshot: ClusterSnapshot) -> dict[NamespacedName, Mapping[str, str]]:
    """The labels of VMs, and of pods under their own names."""
    pods = {name_of(pod): labels_of(pod) for pod in snapshot.of("Pod")}
    return {**pods, **{name: item.labels for name, item in Instances.of(snapshot).items()}}


def _wanted(
    item: AuditFinding, query: AuditQuery, labels: Mapping[NamespacedName, Mapping[str, str]]
) -> bool:
    names = item.vms or (item.name,)
    spaces = {item.name.namespace, *(vm.namespace for vm in item.vms)}
    if query.namespace and query.namespace not in spaces:
        return False
    if query.labels and not any(query.labels.matches(labels.get(n, {})) for n in names):
        return False
    named = {item.rule, str(item.name), item.name.name, item.finding.code}
    if query.rule and query.rule not in named and not item.rule.endswith(f"/{query.rule}"):
        return False
    return not (query.since and item.observed and item.since < query.since)


def departures(
    revision: Revision, instances: Instances, ledger: Ledger, *, now: int
) -> tuple[Departure, ...]:
    """Of each window that drains nodes the opening that is now or comes next, unless it is done."""
    past = request_history(ledger, revision.cluster)
    found = []
    for intent, spec in revision.intents.maintenance_windows:
        name, zone = intent.ref.name, revision.zone
        opening = opening_of(revision.intents, name, now=now, zone=zone, past=past)
        if opening is None or spec.nodes is None or opening.drain in past.finished:
            continue
        wait = opening.allowed.start - now
        found.append(
            Departure(
                window=intent.ref,
                nodes=nodes_of(spec.nodes, instances),
                opens=f"in {format_duration(wait)}" if wait > 0 else "now",
            )
        )
    return tuple(found)
