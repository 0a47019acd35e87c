"""`gitbot init`: a working example repository, one intent of each kind, that lints clean."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from gitbot.errors import UsageError
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.wiring import read_working_tree
from gitbot.wiring.forges import FORGES

if TYPE_CHECKING:
    from gitbot.wiring.forges import Choices, ForgeSetup

F = TypeVar("F", bound=Callable[..., Any])


def _forge_options(function: F) -> F:
    """Every option that only some forges use, with a help for each of them."""
    found = [(kind, option) for kind, forge in FORGES.items() for option in forge.setup.options]
    first = {option.name: option for _, option in reversed(found)}  # forges may share one
    for option in first.values():
        function = click.option(
            option.flag,
            default=option.default,
            show_default=bool(option.default),
            metavar=option.metavar,
            help="; ".join(
                f"{kind}: {each.help.rstrip('.')}"
                for kind, each in found
                if each.name == option.name
            )
            + ".",
        )(function)
    return function


@click.command("init")
@click.argument("directory", required=False, default=".", metavar="[DIR]")
@click.option(
    "--forge",
    type=click.Choice(tuple(FORGES)),
    default="local",
    show_default=True,
    help="Where pull requests live. With github and gitlab, the workflows are written too.",
)
@click.option("--cluster", default="prod", show_default=True, help="Name of the first cluster.")
@_forge_options
def init(*, directory: str, forge: str, cluster: str, **given: str) -> None:
    """Write a working example into DIR: configuration, one intent of each kind, a README.

    With --forge github or gitlab also the workflows that plan, show, apply, reconcile and answer
    comments; on a terminal, it asks for missing options.

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
    setup = FORGES[forge].setup
    choices = _choices(setup, given)
    if on_terminal():
        choices = completed(setup, choices)
    check_choices(setup, choices)
    files = example_files(cluster=cluster, forge=setup.settings(choices), steps=setup.readme)
    files |= setup.files(choices, cluster)
    written, left = _write(folder, files, intents=f"intents/{cluster}")
    for path in written:
        click.echo(folder / path if directory != "." else path)
    for path in left:
        click.echo(f"left as it is: {path}", err=True)
    click.echo(f"next: {'' if directory == '.' else f'cd {directory} && '}gitbot lint", err=True)


def _cluster_of(file: Path, wanted: str) -> str:
    """The cluster whose folder gets the intents: one of an existing configuration."""
    from gitbot.settings import read_settings  # noqa: PLC0415 - keeps --help quick

    beside = partial(read_working_tree, file.parent)
    settings, found = read_settings(file.read_bytes(), str(file), beside)
    if settings is None:
        raise UsageError(f"{found[0].where}: {found[0].message}", hint="mend it, then run init")
    names = settings.cluster_names
    source = click.get_current_context().get_parameter_source("cluster")
    if wanted in names:
        return wanted
    if source is ParameterSource.DEFAULT:
        return names[0]
    raise UsageError(
        f"found --cluster {wanted}, expected one of {file}: {', '.join(names)}",
        hint="add the cluster to that file first, or leave out --cluster",
    )


def _choices(setup: ForgeSetup, given: dict[str, str]) -> Choices:
    """The options of the chosen forge. Raises UsageError for one that only another forge uses."""
    source = click.get_current_context().get_parameter_source
    named = {name for name in given if source(name) is not ParameterSource.DEFAULT}
    for kind, forge in FORGES.items():
        for option in forge.setup.options:
            if option.name in named and option.name not in {own.name for own in setup.options}:
                raise UsageError(
                    f"{option.flag} is about {forge.title}", hint=f"give --forge {kind} as well"
                )
    return {
        option.name: given[option.name] if option.name in named else option.default
        for option in setup.options
    }


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


def on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def completed(
    setup: ForgeSetup, choices: Choices, ask: Callable[[str], str] | None = None
) -> Choices:
    """The choices, with what is missing asked for; `ask` gets the question."""
    asking = ask or (lambda question: str(click.prompt(question, err=True)))
    questions = {option.name: option.question for option in setup.options if option.question}
    while wrong := [name for name in dict(setup.problems(choices)) if not choices[name]]:
        if wrong[0] not in questions:
            break
        answer = asking(questions[wrong[0]]).strip()
        candidate = {**choices, wrong[0]: answer}
        if said := dict(setup.problems(candidate)).get(wrong[0]):
            click.echo(said, err=True)
        else:
            choices = candidate
    return choices


def check_choices(setup: ForgeSetup, choices: Choices) -> None:
    """Raise one UsageError for all choices that the forge cannot use."""
    if wrong := [text for _, text in setup.problems(choices)]:
        raise UsageError("; ".join(wrong))
