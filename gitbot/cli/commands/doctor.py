"""`gitbot doctor`: one table of what works and what does not; each failure has its fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import LISTED, output_option
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import age_of, colour, pick_cluster, running_options, say, stages
from gitbot.errors import Bug, ClusterError, ForgeError, GitbotError, RepositoryError
from gitbot.model.plan.diagnosis import Check, Outcome, asked, failed, fix_of, warned
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.reports import Paint, Style, escape
from gitbot.wiring import SystemClock, find_root

if TYPE_CHECKING:
    from gitbot.settings import Settings
    from gitbot.wiring.workspace import Workspace
    from gitbot.workflows.ask import Questions
    from gitbot.workflows.core.context import RunContext

_SIGNS = {Outcome.PASS: "ok", Outcome.WARN: "warn", Outcome.FAIL: "FAIL"}
_STYLES = {Outcome.PASS: Style.GOOD, Outcome.WARN: Style.CAREFUL, Outcome.FAIL: Style.BAD}


@click.command("doctor")
@click.option("--without-cluster", is_flag=True, help="Look at configuration, Git and forge only.")
@output_option(LISTED, "table")
@running_options
def doctor(*, where: dict[str, str], without_cluster: bool, output: str) -> int:
    """Find what would keep gitbot from working, and show how to fix it.

    Configuration, forge, ledger, published snapshot, clocks, rights in the cluster, KubeVirt.
    Everything is checked, even after failures, and nothing is changed. Exit code 1 if something
    does not work; what only may surprise you is a warning.
    """
    with stages("looking at repository, forge and cluster"):
        checks = tuple(_checks(where, without_cluster=without_cluster))
    if output == "name":
        say("\n".join(check.name for check in checks))
    elif output in ("json", "yaml"):
        from gitbot.published import PublishedDiagnosis, published  # noqa: PLC0415

        document = published({"checks": checks}, PublishedDiagnosis)
        click.echo(document_text(document, output), nl=False)
    else:
        _show(checks)
    return 1 if any(check.outcome is Outcome.FAIL for check in checks) else 0


def _checks(where: dict[str, str], *, without_cluster: bool) -> Iterator[Check]:
    from gitbot.wiring.workspace import open_shell, open_workspace, settings_here  # noqa: PLC0415
    from gitbot.workflows.ask import cluster_checks, rights_checks  # noqa: PLC0415

    try:
        root = find_root(Path.cwd())
        here = settings_here(root)
    except Bug:
        raise
    except GitbotError as error:
        yield failed("repository/reach", error.message, fix_of(error))
        if not without_cluster:
            words = f"not asked: {CONFIGURATION_FILE} would say which cluster is meant"
            yield failed("cluster/reach", words, f"put right {CONFIGURATION_FILE} first")
        return
    try:
        with open_workspace(
            root, kubeconfig=where["kubeconfig"], context=where["context"]
        ) as workspace:
            cluster = pick_cluster(workspace.settings, where["cluster"])
            shell = open_shell(workspace, cluster)
            yield from _of_repository(workspace, shell)
            if not without_cluster:
                yield from _of_cluster(
                    workspace.settings, where, lambda ask: cluster_checks(shell, ask)
                )
    except Bug:
        raise
    except GitbotError as error:
        yield failed("repository/reach", error.message, fix_of(error))
        if isinstance(error, (RepositoryError, ForgeError)):
            yield from asked("ledger/read", lambda: _of_clone(root))
        if not without_cluster:
            yield from _of_cluster(here, where, lambda ask: rights_checks(ask, here))


def _of_repository(workspace: Workspace, shell: RunContext) -> Iterator[Check]:
    from gitbot.wiring.workspace import diagnose_forge  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ask import repository_checks  # noqa: PLC0415

    yield from asked("forge/reach", lambda: diagnose_forge(workspace))
    yield from repository_checks(shell, rehearse=lambda: workspace.rehearse_push("gitbot/ledger"))


def _of_clone(root: Path) -> Iterator[Check]:
    """How old the ledger is that the clone has, as the forge does not show its own."""
    from gitbot.wiring.forge_reads import ledger_of_clone  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415

    words = age_of(ledger_of_clone(repository_here(root)), SystemClock().now())
    yield warned("ledger/read", words, "git fetch, when the forge answers again")


def _of_cluster(
    settings: Settings, where: dict[str, str], ask: Callable[[Questions], tuple[Check, ...]]
) -> Iterator[Check]:
    from gitbot.wiring.workspace import cluster_questions  # noqa: PLC0415

    try:
        questions = cluster_questions(
            settings,
            pick_cluster(settings, where["cluster"]),
            kubeconfig=where["kubeconfig"],
            context=where["context"],
        )
    except ClusterError as error:
        fix = error.hint or "give --kubeconfig and --context, or --without-cluster"
        yield failed("cluster/reach", error.message, fix)
        return
    yield from ask(questions)


def _show(checks: tuple[Check, ...]) -> None:
    paint = Paint(colour=colour())
    width = max((len(check.name) for check in checks), default=0) + 2
    for check in checks:
        margin = f"\n{'':<5}{'':<{width}}"
        sign, rest = _SIGNS[check.outcome], f"{check.name:<{width}}{check.message}"
        first, *more = map(escape.terminal, rest.split("\n"))
        padding = " " * (5 - len(sign))
        click.echo(margin.join([paint(sign, _STYLES[check.outcome]) + padding + first, *more]))
        if check.outcome is not Outcome.PASS:
            say(f"{margin[1:]}fix: {check.fix}")
