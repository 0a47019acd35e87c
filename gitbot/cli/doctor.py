"""`gitbot doctor`: one table of what works and what does not, each failure with its fix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.adapters.files import CONFIGURATION_FILE, find_root
from gitbot.cli.options import output_option
from gitbot.cli.running import running_options, say
from gitbot.errors import Bug, ClusterError, GitbotError
from gitbot.model.diagnosis import Check, Health, fix_of

if TYPE_CHECKING:
    from gitbot.settings import Settings
    from gitbot.wiring import Workspace
    from gitbot.workflows.doctor import Questions
    from gitbot.workflows.shell import Shell

_SIGNS = {Health.PASS: "ok", Health.WARN: "warn", Health.FAIL: "FAIL"}


@click.command("doctor")
@click.option("--without-cluster", is_flag=True, help="Look at configuration, Git and forge only.")
@output_option(("table", "json"), "table")
@running_options
def command(*, where: dict[str, str], without_cluster: bool, output: str) -> int:
    """Look for what would keep gitbot from working, and say how to put it right.

    Configuration, forge, ledger, published snapshot, clocks, rights in the cluster, KubeVirt.
    Everything is asked, whatever fails, and nothing is changed. Exit code 1 where something does
    not work; what only surprises is a warning.
    """
    checks = tuple(_checks(where, without_cluster=without_cluster))
    if output == "json":
        click.echo(json.dumps(diagnosis_json(checks), indent=2))
    else:
        _show(checks)
    return 1 if any(check.outcome is Health.FAIL for check in checks) else 0


def _checks(where: dict[str, str], *, without_cluster: bool) -> Iterator[Check]:
    from gitbot.cli.checking import pick_cluster  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring import open_shell, open_workspace, settings_here  # noqa: PLC0415
    from gitbot.workflows import doctor  # noqa: PLC0415

    try:
        root = find_root(Path.cwd())
        here = settings_here(root)
    except Bug:
        raise
    except GitbotError as error:
        yield doctor.failed("repository/reach", error.message, fix_of(error))
        if not without_cluster:
            words = f"not asked: which cluster is meant stands in {CONFIGURATION_FILE}"
            yield doctor.failed("cluster/reach", words, f"put right {CONFIGURATION_FILE} first")
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
                    workspace.settings, where, lambda asked: doctor.cluster_checks(shell, asked)
                )
    except Bug:
        raise
    except GitbotError as error:
        yield doctor.failed("repository/reach", error.message, fix_of(error))
        if not without_cluster:
            yield from _of_cluster(here, where, lambda asked: doctor.rights_checks(asked, here))


def _of_repository(workspace: Workspace, shell: Shell) -> Iterator[Check]:
    from gitbot.wiring import diagnose_forge  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows import doctor  # noqa: PLC0415

    yield from doctor.asked("forge/reach", lambda: diagnose_forge(workspace))
    yield from doctor.repository_checks(
        shell, rehearse=lambda: workspace.rehearse_push("gitbot/ledger")
    )


def _of_cluster(
    settings: Settings, where: dict[str, str], ask: Callable[[Questions], tuple[Check, ...]]
) -> Iterator[Check]:
    from gitbot.cli.checking import pick_cluster  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring import cluster_questions  # noqa: PLC0415
    from gitbot.workflows import doctor  # noqa: PLC0415

    try:
        questions = cluster_questions(
            settings,
            pick_cluster(settings, where["cluster"]),
            kubeconfig=where["kubeconfig"],
            context=where["context"],
        )
    except ClusterError as error:
        fix = error.hint or "give --kubeconfig and --context, or --without-cluster"
        yield doctor.failed("cluster/reach", error.message, fix)
        return
    yield from ask(questions)


def _show(checks: tuple[Check, ...]) -> None:
    width = max((len(check.name) for check in checks), default=0) + 2
    for check in checks:
        margin = f"\n{'':<5}{'':<{width}}"
        message = check.message.replace("\n", margin)
        say(f"{_SIGNS[check.outcome]:<5}{check.name:<{width}}{message}")
        if check.outcome is not Health.PASS:
            say(f"{margin[1:]}fix: {check.fix}")


def diagnosis_json(checks: Iterable[Check]) -> dict[str, object]:
    """The published document of kind Diagnosis."""
    return {
        "apiVersion": "placement.gitbot.dev/v1alpha1",
        "kind": "Diagnosis",
        "checks": [
            {
                "name": check.name,
                "outcome": str(check.outcome),
                "message": check.message,
                "fix": check.fix,
            }
            for check in checks
        ],
    }
