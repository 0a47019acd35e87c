"""One finding of an audit, with its subject and since when it exists."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.names import IntentRef

INSTANCE = "VirtualMachineInstance"
_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """A finding about one object of the cluster, or about one intent.

    `rule` is the id of the intent behind it, "" if there is none. `vms` are the VMs that it is
    about. `since` (0: unknown): if `observed`, the ledger recorded it then; otherwise it is the
    start of the newest of its pods, and the finding cannot be older.
    """

    finding: Finding
    kind: str
    name: NamespacedName
    node: str = ""
    rule: str = ""
    vms: tuple[NamespacedName, ...] = ()
    since: int = 0
    observed: bool = False

    @property
    def order(self) -> tuple[int, str, str, NamespacedName, str]:
        """Errors first, then by code, kind, name and text."""
        found = self.finding
        return _RANKS[found.severity], found.code, self.kind, self.name, found.message

    @property
    def subject(self) -> str:
        """`Kind namespace/name`, or `Kind name` of an object without a namespace."""
        name = self.name if self.name.namespace else self.name.name
        return f"{self.kind} {name}"


def about(
    code: str,
    severity: Severity,
    *,
    kind: str,
    name: NamespacedName,
    message: str,
    hint: str = "",
    node: str = "",
    rule: str = "",
    vms: tuple[NamespacedName, ...] = (),
    since: int = 0,
) -> AuditFinding:
    """A finding without a file; its key path is the object that it is about."""
    path = "/".join(part for part in (kind, name.namespace, name.name) if part)
    return AuditFinding(
        finding=Finding(code=code, severity=severity, message=message, hint=hint, key_path=path),
        kind=kind,
        name=name,
        node=node,
        rule=rule,
        vms=vms,
        since=since,
    )


def about_vm(
    code: str,
    severity: Severity,
    vm: NamespacedName,
    *,
    node: str,
    message: str,
    hint: str,
    rule: str = "",
) -> AuditFinding:
    return about(
        code,
        severity,
        kind=INSTANCE,
        name=vm,
        message=message,
        hint=hint,
        node=node,
        rule=rule,
        vms=(vm,),
    )


def of_finding(finding: Finding, ref: IntentRef) -> AuditFinding:
    """A finding about an intent on this cluster."""
    name = NamespacedName(namespace=ref.namespace, name=ref.name)
    return AuditFinding(finding=finding, kind=ref.kind, name=name, rule=ref.id)
