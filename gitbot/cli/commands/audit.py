"""`gitbot audit`: what is broken or will break in the cluster, no matter who declared it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.explain_grounds import grounds_of, in_repository
from gitbot.cli.shared.heal_pull import propose_changes
from gitbot.cli.shared.options import (
    LISTED,
    ClusterAccess,
    cluster_options,
    fail_on_option,
    now_option,
    output_option,
    read_file,
    read_past,
    scope_options,
    without_gc,
)
from gitbot.cli.shared.output import document_text, shown_findings, unknown_namespace
from gitbot.cli.shared.session import say, stages
from gitbot.errors import UsageError
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.findings import Severity
from gitbot.model.text.wording import counted

if TYPE_CHECKING:
    from gitbot.audit import AuditFinding, LoadQuestion
    from gitbot.cli.shared.explain_grounds import RepositoryContext
    from gitbot.kubernetes.selectors import Scope
    from gitbot.workflows.audit import AuditQuery, AuditResult

_TALK = ("table", "wide")


@click.command("audit")
@click.option("--rule", default="", metavar="NAME", help="Only this intent, or code of findings.")
@click.option(
    "--since",
    default="",
    metavar="TIME",
    help="Leave out what is known to be older: 7d, last month, 2026-11-01.",
)
@click.option("--cluster", default="", metavar="NAME", help="Which cluster of the configuration.")
@click.option(
    "--no-intents", is_flag=True, help="Audit the cluster alone, not the rules of the repository."
)
@click.option(
    "--load",
    is_flag=True,
    help="Also classify the nodes by load, and list which VMs could relieve which.",
)
@click.option(
    "--descheduler",
    default="",
    metavar="FILE",
    help="The same, as this descheduler would: a DeschedulerPolicy, ConfigMap or KubeDescheduler.",
)
@click.option(
    "--propose",
    is_flag=True,
    help="Open a pull request that takes the pins that are shown out of the VM manifests, and one "
    "for each namespace that moves VMs whose own required terms do not hold.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the pull request that --propose would open, and its files; write nothing.",
)
@scope_options
@now_option
@output_option(LISTED, "table", shows="audit")
@fail_on_option
@cluster_options
def audit(
    *,
    access: ClusterAccess,
    rule: str,
    since: str,
    cluster: str,
    no_intents: bool,
    load: bool,
    descheduler: str,
    propose: bool,
    dry_run: bool,
    scope: Scope,
    now: int,
    output: str,
    fail_on: str,
) -> int:
    """Find what is broken or will break in the cluster, no matter who declared it, and since when.

    Judges gitbot's rules, and what VMs and pods require and prefer in their own specs, as if
    kube-scheduler had to place each running pod now. Exit code 1 on findings that are errors.
    """
    from gitbot.cli.commands.manifests import manifests_of  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.audit import run_audit  # noqa: PLC0415

    human = output in _TALK
    with stages("reading the repository") as progress, without_gc():
        grounds = grounds_of(
            access,
            now=now,
            cluster=cluster,
            intents=not no_intents,
            must=not no_intents and in_repository(),
            human=human,
            onlooker=progress,
        )
        manifests = manifests_of(grounds.revision) if grounds.revision is not None else None
        progress.begins("judging what runs")
        result = run_audit(
            grounds.snapshot,
            now=now,
            revision=grounds.revision,
            ledger=grounds.ledger,
            manifests=manifests,
            query=_query(scope, rule, since, now, grounds),
            load=_load(grounds, descheduler, now, asked=load),
        )
    _show(result, output, rule, scope, grounds)
    if propose or dry_run:
        propose_changes(grounds, result, manifests, access, now=now, human=human, dry_run=dry_run)
    return _exit_code(result, fail_on)


def _show(
    result: AuditResult, output: str, rule: str, scope: Scope, grounds: RepositoryContext
) -> None:
    if unknown := unknown_namespace(scope, grounds.snapshot, grounds.revision):
        raise UsageError(unknown)
    if rule and not result.findings:
        _must_be_known(rule, grounds)
    zone = (grounds.revision.zone if grounds.revision is not None else None) or "UTC"
    click.echo(_shown(result, output, zone), nl=False)
    for line in result.unasked:
        say(f"not audited: {line}", err=True)


def _must_be_known(rule: str, grounds: RepositoryContext) -> None:
    """Raises UsageError for a name that nothing has: the answer would look clean."""
    from gitbot.model.text.wording import nearest  # noqa: PLC0415 - only if nothing was found
    from gitbot.wiring import ShippedTexts  # noqa: PLC0415

    meanings = ShippedTexts().meanings()["findings.tsv"]
    known = [line.partition("\t")[0] for line in meanings.splitlines()]
    for intent in grounds.revision.intents.intents if grounds.revision is not None else ():
        ref = intent.ref
        known += [ref.id, str(NamespacedName(namespace=ref.namespace, name=ref.name)), ref.name]
    if rule not in known:
        near = nearest(rule, known)
        hint = f"did you mean {near}?" if near else "gitbot get rules lists the intents"
        raise UsageError(f"--rule: there is no intent and no finding {rule}", hint=hint)


def _query(scope: Scope, rule: str, since: str, now: int, grounds: RepositoryContext) -> AuditQuery:
    from gitbot.workflows.audit import AuditQuery  # noqa: PLC0415 - keeps --help quick

    zone = grounds.revision.zone if grounds.revision is not None else None
    begin = read_past("--since", since, zone or "UTC", now=now) if since else 0
    return AuditQuery(namespace=scope.namespace, labels=scope.labels, rule=rule, since=begin)


def _load(
    grounds: RepositoryContext, descheduler: str, now: int, *, asked: bool
) -> LoadQuestion | None:
    if not (asked or descheduler):
        return None
    from gitbot.audit import LoadQuestion, read_policy  # noqa: PLC0415 - keeps --help quick

    policies = read_policy(descheduler, read_file(descheduler)) if descheduler else ()
    return LoadQuestion(load=grounds.load(now), policies=policies)


def _exit_code(result: AuditResult, fail_on: str) -> int:
    counts = result.counts()
    bad = counts[Severity.ERROR] + (counts[Severity.WARNING] if fail_on == "warning" else 0)
    return int(bad > 0)


def _shown(result: AuditResult, output: str, zone: str) -> str:
    findings = [item.finding for item in result.findings]
    if output in ("json", "yaml"):
        from gitbot.workflows.audit import audit_document  # noqa: PLC0415 - keeps --help quick

        return document_text(audit_document(result), output)
    if output == "name":
        names = dict.fromkeys(f"{item.kind.lower()}/{item.name.name}" for item in result.findings)
        return "".join(f"{name}\n" for name in names)
    if output in _TALK:
        return _table(result, zone, wide=output == "wide")
    state = f"audit: {_counts(result)}"
    if output == "html":
        return _page(result, state)
    return shown_findings(findings, output, cluster=result.cluster, state=state)


def _page(result: AuditResult, state: str) -> str:
    from gitbot.reports.html.page import html_table  # noqa: PLC0415 - jinja2 only where used
    from gitbot.wiring import ShippedTexts  # noqa: PLC0415

    head = ["severity", "name", "VMs", "node", "age", "rule", "what", "hint"]
    rows = [
        [
            str(item.finding.severity),
            item.subject,
            ", ".join(map(str, item.vms)),
            item.node,
            _age(item, result.now),
            item.rule,
            f"{item.finding.message} ({item.finding.code})",
            item.finding.hint,
        ]
        for item in result.findings
    ]
    return html_table(
        result.cluster,
        state,
        templates=ShippedTexts().templates(),
        bad=bool(_exit_code(result, "error")),
        rows=[head, *rows],
        product="audit",
    )


def _counts(result: AuditResult) -> str:
    counts = result.counts()
    return ", ".join(counted(counts[severity], str(severity)) for severity in Severity)


def _table(result: AuditResult, zone: str, *, wide: bool) -> str:
    from gitbot.calendar import local_text  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports import columns  # noqa: PLC0415
    from gitbot.reports.escape import terminal  # noqa: PLC0415

    head = ["SEVERITY", "NAMESPACE", "NAME", "NODE", "AGE", "CODE", "WHAT"]
    more = ["KIND", "WHERE", "HINT"]
    rows = [
        [
            str(item.finding.severity),
            item.name.namespace,
            item.name.name,
            item.node,
            _age(item, result.now),
            item.finding.code,
            item.finding.message,
        ]
        + ([item.kind, item.finding.where, item.finding.hint] if wide else [])
        for item in result.findings
    ]
    state = _counts(result) if result.findings else "nothing found"
    taken = f"{local_text(result.taken_at, zone)} {zone}"
    first = f"{terminal(result.cluster)}: {state}; snapshot {taken}\n"
    return f"{first}\n{columns(head + more if wide else head, rows)}" if rows else first


def _age(item: AuditFinding, now: int) -> str:
    """`>P3D` where it was seen that long ago, `<P12D` where it cannot be older."""
    from gitbot.calendar import format_duration  # noqa: PLC0415 - keeps --help quick

    if not item.since:
        return ""
    return f"{'>' if item.observed else '<'}{format_duration(max(0, now - item.since))}"
