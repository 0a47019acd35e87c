"""`gitbot audit --propose`: the pull request that takes pins out of VM manifests."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.cli.shared.options import ClusterAccess
from gitbot.cli.shared.session import say as talk
from gitbot.errors import UsageError
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.cli.shared.explain_grounds import RepositoryContext
    from gitbot.workflows.audit import AuditResult, Manifests


def propose_unpinning(
    grounds: RepositoryContext,
    result: AuditResult,
    manifests: Manifests | None,
    access: ClusterAccess,
    *,
    human: bool,
    dry_run: bool,
) -> None:
    """Open it, or say which one is open, and what to type for pins that no file here has.

    A dry run prints its text and the changed files, and writes nothing.
    """
    from gitbot.constraints.moves.instances import Instances  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring.workspace import open_shell, open_workspace  # noqa: PLC0415
    from gitbot.workflows import author  # noqa: PLC0415

    say = partial(talk, err=not human)
    if grounds.revision is None:
        raise UsageError("--propose needs a repository of intents", hint="gitbot init")
    found = [
        author.Pinned(vm=item.name, node=item.node)
        for item in result.findings
        if item.finding.code == "audit/pin"
    ]
    if not found:
        say("no pins were found: nothing to propose")
        return
    with open_workspace(
        find_root(Path.cwd()),
        kubeconfig=access.kubeconfig,
        context=access.context,
        as_person=True,
    ) as workspace:
        shell = open_shell(workspace, grounds.revision.cluster)
        machines = manifests.machines if manifests is not None else ()
        change = author.unpinning(shell, Instances.of(grounds.snapshot), found, machines)
        if change.files and dry_run:
            say(f"dry run: this pull request would open\n{change.title}\n\n{change.body}")
            for path, data in sorted(change.files.items()):
                say(f"# {path}\n{data.decode()}")
        elif change.files:
            pull, already = author.open_unpinning(shell, change)
            say("a pull request that does this is open already" if already else change.branch)
            say(author.next_step(shell, pull))
        for line in change.typed:
            say(line)
