"""`gitbot init`: a working example repository, one intent of each kind, that lints clean."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click
from click.core import ParameterSource

from gitbot.documents.formats import is_github_repository
from gitbot.errors import UsageError
from gitbot.model.text.names import CONFIGURATION_FILE
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

    With --forge github also the workflows that plan, show, apply, reconcile and answer comments;
    on a terminal, it asks for missing options.

    Never overwrites: writes what is missing, and says what it left alone. Does not run `git init`;
    the local forge is a bare repository to push to.
    """
    from gitbot.cli.shared.init_files import example_files  # noqa: PLC0415
    from gitbot.documents.formats import dns_label  # noqa: PLC0415
    from gitbot.model.plan.findings import Refusal  # noqa: PLC0415

    try:
        dns_label(cluster)
    except Refusal as refusal:
        raise UsageError(
            f"found the cluster name {cluster!r}, expected {refusal.expected}", hint=refusal.hint
        ) from refusal
    folder = Path(directory)
    if (folder / CONFIGURATION_FILE).exists():
        cluster = _cluster_of(folder / CONFIGURATION_FILE, cluster)
    if forge == "local":
        _check_local()
        files = example_files(cluster=cluster, forge=_LOCAL)
    else:
        choices = GitHubChoices(
            repository=repository, action=action, runner=runs_on, branch=base_branch
        )
        choices = completed(choices) if on_terminal() else choices
        check_choices(choices)
        repository = choices.repository
        where = f"{{type: github, repository: {repository}, baseBranch: {choices.branch}}}"
        files = example_files(cluster=cluster, forge=where, github=True)
        files |= workflow_files(ShippedTexts().workflows(), choices, cluster=cluster)
    written, left = _write(folder, files, intents=f"intents/{cluster}")
    for path in written:
        click.echo(folder / path if directory != "." else path)
    for path in left:
        click.echo(f"left as it is: {path}", err=True)
    click.echo(f"next: {'' if directory == '.' else f'cd {directory} && '}gitbot lint", err=True)


def _cluster_of(file: Path, wanted: str) -> str:
    """The cluster whose folder gets the intents: one of an existing configuration."""
    from gitbot.settings import read_settings  # noqa: PLC0415 - keeps --help quick

    settings, found = read_settings(file.read_bytes(), str(file))
    if settings is None:
        raise UsageError(f"{found[0].where}: {found[0].message}", hint="mend it, then run init")
    names = [cluster.name for cluster in settings.clusters]
    source = click.get_current_context().get_parameter_source("cluster")
    if wanted in names:
        return wanted
    if source is ParameterSource.DEFAULT:
        return names[0]
    raise UsageError(
        f"found --cluster {wanted}, expected one of {file}: {', '.join(names)}",
        hint="add the cluster to that file first, or leave out --cluster",
    )


def _check_local() -> None:
    """Raise UsageError for an option that only --forge github uses."""
    context = click.get_current_context()
    for name in ("repository", "action", "runs_on", "base_branch"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is about GitHub", hint="give --forge github as well")


def _write(
    folder: Path, files: dict[str, str], *, intents: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the files that are missing; returns them, and the files left alone.

    Examples of intents are written only where the cluster has no intents yet.
    """
    has_intents = any((folder / intents).rglob("*.y*ml"))
    left = [
        path
        for path in files
        if (folder / path).exists()
        or (folder / path).is_symlink()
        or (has_intents and path.startswith(f"{intents}/"))
    ]
    try:
        for path in files.keys() - set(left):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(files[path], encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    examples = f"{intents}/ (it has intents; no examples were added)"
    named = [examples if has_intents and path.startswith(intents) else path for path in left]
    return tuple(path for path in files if path not in left), tuple(dict.fromkeys(named))


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


def on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def completed(choices: GitHubChoices, ask: Callable[[str], str] | None = None) -> GitHubChoices:
    """The choices, with what is missing asked for; `ask` gets the question."""
    asking = ask or (lambda question: str(click.prompt(question, err=True)))
    while wrong := [name for name, _ in _wrong(choices) if not getattr(choices, name)]:
        answer = asking(_QUESTIONS[wrong[0]]).strip()
        candidate = replace(choices, **{wrong[0]: answer})
        if said := dict(_wrong(candidate)).get(wrong[0]):
            click.echo(said, err=True)
        else:
            choices = candidate
    return choices


_QUESTIONS = {
    "repository": "This repository on GitHub (OWNER/NAME)",
    "action": "The repository that holds gitbot, with its full commit (OWNER/NAME@COMMIT)",
}


def check_choices(choices: GitHubChoices) -> None:
    """Raise one UsageError for all choices that no workflow can use."""
    if wrong := [text for _, text in _wrong(choices)]:
        raise UsageError("; ".join(wrong))


def _wrong(choices: GitHubChoices) -> Iterator[tuple[str, str]]:
    """Each choice that cannot be used, with what was found, what was expected and what to give."""
    if not is_github_repository(choices.repository):
        expected = "OWNER/NAME: give --repository, such as acme/placement"
        yield "repository", f"found the repository {choices.repository!r}, expected {expected}"
    if not _ACTION.fullmatch(choices.action):
        expected = (
            "OWNER/NAME@COMMIT with a full commit: give --action with the repository that holds "
            "gitbot, pinned: a tag can be moved, a commit cannot (git ls-remote shows it)"
        )
        yield "action", f"found the action {choices.action!r}, expected {expected}"
    if not _RUNNER.fullmatch(choices.runner):
        expected = "labels such as self-hosted,linux"
        yield "runner", f"found the runner {choices.runner!r}, expected {expected}"
    if not _BRANCH.fullmatch(choices.branch):
        yield "branch", f"found the branch {choices.branch!r}, expected a name such as main"


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
