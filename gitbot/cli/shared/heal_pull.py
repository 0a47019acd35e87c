"""`gitbot audit --propose`: pull requests that heal required terms in VMs' own specs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.cli.shared.options import ClusterAccess
from gitbot.cli.shared.session import say as talk
from gitbot.cli.shared.unpin_pull import propose_unpinning
from gitbot.model.grouping import grouped
from gitbot.model.text.wording import counted, first_of
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.cli.shared.explain_grounds import RepositoryContext
    from gitbot.kubernetes.names import NamespacedName
    from gitbot.workflows.audit import AuditResult, Manifests
    from gitbot.workflows.author import NewIntent

_TERMS = frozenset({"audit/node-affinity", "audit/pod-affinity", "audit/topology-spread"})


def propose_changes(
    grounds: RepositoryContext,
    result: AuditResult,
    manifests: Manifests | None,
    access: ClusterAccess,
    *,
    now: int,
    human: bool,
    dry_run: bool,
) -> None:
    """The pull requests about pins, then those about terms."""
    propose_unpinning(grounds, result, manifests, access, human=human, dry_run=dry_run)
    _propose_healing(grounds, result, access, now=now, human=human, dry_run=dry_run)


def _propose_healing(
    grounds: RepositoryContext,
    result: AuditResult,
    access: ClusterAccess,
    *,
    now: int,
    human: bool,
    dry_run: bool,
) -> None:
    """One MigrationRequest for each namespace whose VMs can move so that their terms hold."""
    from gitbot.model.plan.findings import Severity  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring.workspace import open_shell, open_workspace  # noqa: PLC0415
    from gitbot.workflows import author  # noqa: PLC0415

    say = partial(talk, err=not human)
    broken = {
        vm
        for item in result.findings
        if item.finding.code in _TERMS and item.finding.severity is Severity.ERROR
        for vm in item.vms
    }
    if grounds.revision is None or not broken:
        return
    healing = author.healing_of_terms(grounds.revision, grounds.snapshot, sorted(broken), now=now)
    for vm, why in healing.staying:
        say(f"{vm} keeps a term that does not hold: {why}")
    wanted = [
        _request(namespace, vms)
        for namespace, vms in grouped((vm.namespace, vm) for vm in healing.moved).items()
    ]
    if dry_run or not wanted:
        for new in wanted:
            say(f"dry run: this pull request would open\n{new.title}\n\n{new.text}")
        return
    with open_workspace(
        find_root(Path.cwd()),
        kubeconfig=access.kubeconfig,
        context=access.context,
        as_person=True,
    ) as workspace:
        shell = open_shell(workspace, grounds.revision.cluster)
        for new in wanted:
            pull = author.open_already(shell, new)
            if pull is not None:
                say("a pull request that heals these terms is open already")
            else:
                named = author.with_free_name(shell, new)
                pull = author.open_new(shell, named)
                say(f"{named.path(shell.cluster_name)} on branch {named.branch}")
            say(author.next_step(shell, pull))


def _request(namespace: str, vms: tuple[NamespacedName, ...]) -> NewIntent:
    from gitbot.workflows.author import NewIntent  # noqa: PLC0415 - keeps --help quick

    names = [vm.name for vm in vms]
    note = "Required terms in the VMs' own specs do not hold where they run"
    return NewIntent(
        kind="MigrationRequest",
        namespace=namespace,
        name=f"heal-{names[0]}",
        spec={"vms": {"names": names}, "pin": "Node", "note": note},
        verb="heal-terms",
        title=f"Heal terms of {counted(len(names), 'VM')}: {namespace}/{first_of(names, 3)}",
        note=note,
    )
