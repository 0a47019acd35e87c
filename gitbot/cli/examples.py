"""One example of each command, shown at the end of its help."""

from __future__ import annotations

_COMMIT = "0123456789abcdef0123456789abcdef01234567"
EXAMPLES: dict[str, tuple[str, ...]] = {
    "apply": ("gitbot apply --max-runtime 1800", "gitbot apply --wait-for-opening 1200"),
    "cancel": ('gitbot cancel request/customapp/make-room --reason "no longer needed"',),
    "check": (
        "gitbot check --base main --snapshot cluster.json.gz",
        "gitbot check --pull-request 1 --publish",
        "gitbot check --base main --published --reports reports",
    ),
    "comment": ("gitbot comment --issue 12 --comment 2034567890",),
    "doctor": ("gitbot doctor", "gitbot doctor --without-cluster -o json"),
    "explain": (
        "gitbot explain vm/jumpbox -n customapp --snapshot cluster.json.gz",
        "kubectl get nodes,pods,vmi,vm -A -o yaml | gitbot explain jumpbox --snapshot -",
    ),
    "hold": ('gitbot hold --reason "storage is slow" --cancel-running',),
    "init": (
        "gitbot init placement --cluster prod",
        f"gitbot init --forge github --repository acme/placement --action acme/gitbot@{_COMMIT}",
    ),
    "ledger": (
        "gitbot ledger show --since 2026-10-01T00:00:00Z --vm customapp/jumpbox -o csv",
        "gitbot ledger verify",
    ),
    "lint": ("gitbot lint", "gitbot lint --rev HEAD -o sarif"),
    "plan": ("gitbot plan --snapshot cluster.json.gz -o json",),
    "policy": ("gitbot policy list", "gitbot policy test policies"),
    "propose": ("gitbot propose",),
    "reconcile": ("gitbot reconcile --watch --every 300 --health-file /tmp/health",),
    "render": ("gitbot render --kind virtualmachineinstancemigration --snapshot cluster.json.gz",),
    "resume": ('gitbot resume --reason "storage is well again"',),
    "returned": ("gitbot returned kni-worker5",),
    "schema": ("gitbot schema MigrationRequest", "gitbot schema --all -o .schemas"),
    "snapshot": ("gitbot snapshot -o cluster.json.gz",),
    "status": ("gitbot status", "gitbot status request/customapp/make-room"),
    "version": ("gitbot version",),
}


def epilog(command: str) -> str | None:
    """The end of a command's help; None where its text has examples already."""
    lines = EXAMPLES.get(command)
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)]) if lines else None
