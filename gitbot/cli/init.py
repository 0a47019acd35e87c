"""`gitbot init`: a working example repository, one intent of each kind, that lints clean."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from gitbot.errors import UsageError

_LOCAL = "{type: local, repository: origin, baseBranch: main}"


@click.command("init")
@click.argument("directory", required=False, default=".", metavar="[DIR]")
@click.option(
    "--forge",
    type=click.Choice(("local", "github")),
    default="local",
    show_default=True,
    help="Where pull requests live. With github, the workflows are written too.",
)
@click.option("--cluster", default="prod", show_default=True, help="Name of the first cluster.")
@click.option("--repository", default="", metavar="OWNER/NAME", help="github: this repository.")
@click.option(
    "--action",
    default="",
    metavar="OWNER/NAME@COMMIT",
    help="github: the repository that holds gitbot, pinned by its full commit.",
)
@click.option(
    "--runs-on",
    default="ubuntu-latest",
    show_default=True,
    metavar="LABELS",
    help="github: the runner that reaches the cluster; several labels with commas.",
)
@click.option(
    "--base-branch",
    default="main",
    show_default=True,
    metavar="NAME",
    help="github: the protected branch that the workflows act on.",
)
def command(
    *,
    directory: str,
    forge: str,
    cluster: str,
    repository: str,
    action: str,
    runs_on: str,
    base_branch: str,
) -> None:
    """Write a working example into DIR: configuration, one intent of each kind, a README.

    With --forge github also the workflows that plan, show, apply, reconcile and answer comments.

    Never overwrites: with any of its files there already, nothing is written. Makes no Git
    repository: `git init` does, and a bare one to push to is the local forge.
    """
    from gitbot.adapters.files import ShippedTexts  # noqa: PLC0415 - keeps --help quick
    from gitbot.cli.init_files import example_files  # noqa: PLC0415
    from gitbot.cli.init_github import (  # noqa: PLC0415
        GitHubChoices,
        check_choices,
        workflow_files,
    )
    from gitbot.documents.formats import Refusal, dns_label  # noqa: PLC0415

    try:
        dns_label(cluster)
    except Refusal as refusal:
        raise UsageError(
            f"found the cluster name {cluster!r}, expected {refusal.expected}", hint=refusal.hint
        ) from refusal
    folder = Path(directory)
    if forge == "local":
        _check_local()
        files = example_files(cluster=cluster, forge=_LOCAL)
    else:
        choices = GitHubChoices(
            repository=repository, action=action, runner=runs_on, branch=base_branch
        )
        check_choices(choices)
        where = f"{{type: github, repository: {repository}, baseBranch: {choices.branch}}}"
        files = example_files(cluster=cluster, forge=where, github=True)
        files |= workflow_files(ShippedTexts().workflows(), choices, cluster=cluster)
    there = [path for path in files if (folder / path).exists() or (folder / path).is_symlink()]
    if there:
        raise UsageError(
            f"{folder / there[0]} is there already",
            hint="give an empty folder; nothing was written",
        )
    _write(folder, files)
    for path in files:
        click.echo(folder / path if directory != "." else path)
    click.echo(f"next: {'' if directory == '.' else f'cd {directory} && '}gitbot lint", err=True)


def _check_local() -> None:
    """UsageError for an option that only --forge github has, and that nothing would come of."""
    context = click.get_current_context()
    for name in ("repository", "action", "runs_on", "base_branch"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is about GitHub", hint="give --forge github as well")


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
