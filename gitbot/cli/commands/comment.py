"""`gitbot comment`: obey and answer one comment; the comment workflow calls it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitbot.cli.shared.options import output_option
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import print_progress, say
from gitbot.wiring import SystemClock, find_root

if TYPE_CHECKING:
    from gitbot.kubernetes.names import NamespacedName
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.wiring.workspace import Workspace
    from gitbot.workflows.comments import CommentResult
    from gitbot.workflows.core.context import RunContext


@click.command("comment")
@click.option("--issue", type=click.IntRange(min=1), metavar="N", help="Its pull request or issue.")
@click.option("--comment", "identity", type=click.IntRange(min=1), metavar="ID", help="Its id.")
@click.option("--live", is_flag=True, help="Read the clusters themselves, not what is published.")
@output_option(("table", "json", "yaml"), "table")
def comment(issue: int | None, identity: int | None, live: bool, output: str) -> int:
    """Do what a comment on a pull request says, once, and answer it there.

    The first line is the command: /gitbot plan, status, explain VM, hold, resume, cancel REQUEST,
    apply, returned NODE, override POLICY WHY or help. gitbot obeys only people who may write to the
    repository. Without --issue and --comment it reads them from the event of a CI job. Exit
    code 1 if the command could not be carried out.
    """
    from gitbot.published import CommandOutcome  # noqa: PLC0415
    from gitbot.wiring.forges import commented  # noqa: PLC0415
    from gitbot.wiring.workspace import open_workspace  # noqa: PLC0415
    from gitbot.workflows.comments import Texts, answer  # noqa: PLC0415

    if issue is None or identity is None:
        issue, identity = commented(os.environ)
    clock = SystemClock()
    with open_workspace(find_root(Path.cwd()), clock=clock) as workspace:
        shells = tuple(
            _shell(workspace, cluster.name, live=live) for cluster in workspace.settings.clusters
        )
        result = answer(
            shells,
            number=issue,
            comment=identity,
            texts=Texts(status=_status_text, explain=_explanation),
        )
    show(result, output)
    return 1 if result.outcome is CommandOutcome.FAILED else 0


def show(result: CommentResult, output: str) -> None:
    if output != "table":
        from gitbot.published import PublishedComment, published  # noqa: PLC0415

        click.echo(document_text(published(result, PublishedComment), output), nl=False)
        return
    words = f"{result.verb} " if result.verb else ""
    say(f"comment {result.comment} on {result.number}: {words}{result.outcome}")
    if result.text:
        say(result.text)


def _shell(workspace: Workspace, cluster: str, *, live: bool) -> RunContext:
    from gitbot.cli.shared.published_state import (  # noqa: PLC0415 - keeps --help quick
        published_rights,
        published_snapshot,
    )
    from gitbot.wiring.workspace import open_shell  # noqa: PLC0415

    if not live:
        workspace.read_only(
            cluster,
            lambda: published_snapshot(workspace.repository, cluster, now=workspace.clock.now()),
            published_rights(workspace.repository, cluster),
        )
    configured = workspace.settings.cluster(cluster)
    zone = (configured and configured.time_zone) or "UTC"
    return open_shell(workspace, cluster, progress=partial(print_progress, zone=zone))


def _status_text(result: Any) -> str:
    from gitbot.cli.shared.status_page import table  # noqa: PLC0415 - keeps --help quick

    return table(result)


def _explanation(snapshot: ClusterSnapshot, vm: NamespacedName) -> str:
    from gitbot.cli.commands.explain import resolve  # noqa: PLC0415 - keeps --help quick
    from gitbot.cli.shared.explain_table import table  # noqa: PLC0415
    from gitbot.constraints.explanation import Explainer  # noqa: PLC0415
    from gitbot.workflows.core.judged_plan import answering  # noqa: PLC0415

    with answering(snapshot):
        explainer = Explainer(snapshot)
        _, name = resolve(explainer, vm.name, vm.namespace)
        return table(explainer.vm(name))
