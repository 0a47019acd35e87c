"""`gitbot init`: a working example repository, one intent of each kind, that lints clean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from gitbot.documents.formats import is_github_repository
from gitbot.errors import UsageError
from gitbot.wiring import ShippedTexts

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
def init(
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

    Never overwrites: if one of its files exists, nothing is written. Makes no Git
    repository: `git init` does, and a bare one to push to is the local forge.
    """
    from gitbot.cli.init_files import example_files  # noqa: PLC0415
    from gitbot.documents.formats import dns_label  # noqa: PLC0415
    from gitbot.model.findings import Refusal  # noqa: PLC0415

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
    _write(folder, files)
    for path in files:
        click.echo(folder / path if directory != "." else path)
    click.echo(f"next: {'' if directory == '.' else f'cd {directory} && '}gitbot lint", err=True)


def _check_local() -> None:
    """Raise UsageError for an option that only --forge github uses."""
    context = click.get_current_context()
    for name in ("repository", "action", "runs_on", "base_branch"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is about GitHub", hint="give --forge github as well")


def _write(folder: Path, files: dict[str, str]) -> None:
    there = [path for path in files if (folder / path).exists() or (folder / path).is_symlink()]
    if there:
        raise UsageError(
            f"{folder / there[0]} is there already",
            hint="rename it, or give another folder; nothing was written",
        )
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error


FOLDER = ".github/workflows"
_ACTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+@[0-9a-f]{40}")
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_RUNNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(,[A-Za-z0-9][A-Za-z0-9._-]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubChoices:
    """A person's choices for GitHub.

    `repository` is OWNER/NAME of the intents, `action` OWNER/NAME@COMMIT of a gitbot repository,
    `runner` one label, or several with commas, for the jobs that reach the cluster.
    """

    repository: str
    action: str
    runner: str = "ubuntu-latest"
    branch: str = "main"


def check_choices(choices: GitHubChoices) -> None:
    """Raise UsageError for a choice that no workflow can use."""
    if not is_github_repository(choices.repository):
        raise UsageError(
            f"found the repository {choices.repository!r}, expected OWNER/NAME",
            hint="give --repository, such as acme/placement",
        )
    if not _ACTION.fullmatch(choices.action):
        raise UsageError(
            f"found the action {choices.action!r}, expected OWNER/NAME@COMMIT with a full commit",
            hint="give --action with the repository that holds gitbot, pinned: a tag can be moved, "
            "a commit cannot (git ls-remote shows it)",
        )
    if not _RUNNER.fullmatch(choices.runner):
        raise UsageError(
            f"found the runner {choices.runner!r}, expected labels such as self-hosted,linux"
        )
    if not _BRANCH.fullmatch(choices.branch):
        raise UsageError(f"found the branch {choices.branch!r}, expected a name such as main")


def workflow_files(
    templates: Mapping[str, str], choices: GitHubChoices, *, cluster: str
) -> dict[str, str]:
    """Repository path to text of each workflow. `templates` are those that ship with gitbot."""
    name, _, commit = choices.action.partition("@")
    labels = choices.runner.split(",")
    action = "gitbot/.github/actions/gitbot@"
    words = {
        f"OWNER/{action}{'0' * 40}": f"{name}/{action.partition('/')[2]}{commit}",
        "BRANCH": choices.branch,
        "CLUSTER": cluster,
        "RUNNER": labels[0] if len(labels) == 1 else json.dumps(labels),
    }
    pattern = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in words))
    return {
        f"{FOLDER}/{file}": pattern.sub(lambda found: words[found.group()], text)
        for file, text in templates.items()
    }
