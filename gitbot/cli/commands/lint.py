"""`gitbot lint`: every error in configuration, intents and policies, without cluster or clock."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from gitbot.cli.shared.options import LISTED, fail_on_option, output_option
from gitbot.cli.shared.output import shown_findings
from gitbot.cli.shared.session import colour, stages
from gitbot.errors import RepositoryError, UsageError
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.progress import PlanningProgress
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.ports.repository import Repository
from gitbot.wiring import ShippedTexts, SystemClock, find_root, policy_runner, template_process

_Finished = Callable[[str], Collection[str]]


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--rev", metavar="REV", help="Read this branch, tag or commit, not the working tree.")
@output_option(LISTED, "table", shows="findings")
@fail_on_option
def lint(paths: tuple[str, ...], rev: str | None, output: str, fail_on: str) -> int:
    """Find every error in configuration, intents and policies; needs no cluster.

    gitbot reads the whole repository; with PATHS (files or folders) it shows only what concerns
    them. Findings go to standard output, each with its file, line and column.
    """
    root = find_root(_start(paths))
    shown_paths = [_inside(root, path) for path in paths]
    with _without_collector(), stages("reading the repository") as progress:
        finished = functools.partial(_finished, root, progress)
        findings, files = _of_rev(root, rev, finished) if rev else _of_tree(root, finished)
    wanted = [finding for finding in findings if _concerns(finding, shown_paths)]
    click.echo(_printed(wanted, output), nl=False)
    click.echo(_summary(wanted, files), err=True)
    return 1 if any(_fails(finding, fail_on) for finding in wanted) else 0


@contextmanager
def _without_collector() -> Iterator[None]:
    """Reading makes many values and no cycles; a search for cycles takes a tenth of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if gc.get_freeze_count():  # one command's own process: skip these values
                gc.freeze()
            gc.enable()


def _start(paths: tuple[str, ...]) -> Path:
    if not paths:
        return Path.cwd()
    first = Path(paths[0])
    return first if first.is_dir() else first.parent


def _inside(root: Path, path: str) -> str:
    """The path relative to the repository; "" for all of it."""
    full = Path(path)
    if not full.exists() and not full.is_symlink():
        raise UsageError(f"there is no file or folder {path}")
    # the last step is not resolved: a symbolic link is reported, not followed
    full = full.resolve() if full.is_dir() else full.parent.resolve() / full.name
    if full != root and root not in full.parents:
        raise UsageError(f"{path} is not in the repository {root}")
    text = full.relative_to(root).as_posix()
    return "" if text == "." else text


def _concerns(finding: Finding, paths: list[str]) -> bool:
    if not paths:
        return True
    return any(not p or finding.file == p or finding.file.startswith(f"{p}/") for p in paths)


def _of_tree(root: Path, finished: _Finished) -> tuple[tuple[Finding, ...], int]:
    from gitbot.cli.shared.lint_files import FOLDERS, read_tree  # noqa: PLC0415 - keeps --help quick
    from gitbot.cli.shared.linting import MISSING, lint, named_paths  # noqa: PLC0415
    from gitbot.settings import among  # noqa: PLC0415

    configuration = read_tree(root, ()).contents.get(CONFIGURATION_FILE, b"")
    folders, named = named_paths(
        configuration, lambda folder: among(read_tree(root, (folder,)).contents)(folder)
    )
    # other files of such a folder are not gitbot's: a chart has links and programs there
    templates = [f"templates/{path.name}" for path in sorted((root / "templates").glob("*.j2"))]
    files = read_tree(root, (*FOLDERS, *folders), (*named, *templates))
    refused = {finding.file for finding in files.findings}
    linted = lint(
        files.contents, finished, ShippedTexts().policies, policy_runner, template_process
    )
    found = {*files.findings, *(f for f in linted if f.code != MISSING or f.file not in refused)}
    return tuple(sorted(found, key=sort_key)), len(files.contents)


def _of_rev(root: Path, rev: str, finished: _Finished) -> tuple[tuple[Finding, ...], int]:
    from gitbot.cli.shared.lint_files import FOLDERS  # noqa: PLC0415
    from gitbot.cli.shared.linting import is_template, lint, named_paths  # noqa: PLC0415
    from gitbot.documents import TOP, finding_at  # noqa: PLC0415
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415 - git only where used

    repository = repository_here(root)
    commit = repository.resolve(rev)
    if commit is None:
        raise RepositoryError(
            f"there is no commit {rev!r} in {root}", hint="give a branch, a tag, HEAD or a full id"
        )
    contents: dict[str, bytes] = {}
    found: list[Finding] = []
    configuration = repository.read_blob(commit, CONFIGURATION_FILE) or b""
    folders, named = named_paths(configuration, functools.partial(_beside, repository, commit))
    for prefix in (CONFIGURATION_FILE, *FOLDERS, *folders, *named):
        try:
            contents.update(repository.read_tree(commit, prefix))
        except RepositoryError as error:
            # a tree entry that gitbot does not read; the message begins with its path
            found.append(finding_at(prefix, TOP, "files/unreadable", error.message, error.hint))
    with suppress(RepositoryError):  # a link in a folder that may be a chart's
        read = repository.read_tree(commit, "templates/")
        contents.update((path, data) for path, data in read.items() if is_template(path))
    found += lint(contents, finished, ShippedTexts().policies, policy_runner, template_process)
    return tuple(sorted(set(found), key=sort_key)), len(contents)


def _beside(repository: Repository, commit: str, folder: str) -> Mapping[str, bytes] | None:
    try:
        return repository.read_tree(commit, f"{folder}/")
    except RepositoryError:  # reported with the other folders
        return None


def _finished(root: Path, onlooker: PlanningProgress, cluster: str) -> Collection[str]:
    from gitbot.cli.shared.planning_input import ask_ledger  # noqa: PLC0415 - the ledger only where needed
    from gitbot.workflows.ledger.request_history import request_history  # noqa: PLC0415

    ledger = ask_ledger(root, now=SystemClock().now(), human=False, onlooker=onlooker)
    return request_history(ledger, cluster).finished


def _printed(findings: list[Finding], output: str) -> str:
    if output in ("table", "wide", "text", "name") and not findings:
        return ""
    return shown_findings(findings, output, colour=colour())


def _fails(finding: Finding, fail_on: str) -> bool:
    return finding.severity is Severity.ERROR or (
        fail_on == "warning" and finding.severity is Severity.WARNING
    )


def _summary(findings: list[Finding], files: int) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    read = f"{files} file{'' if files == 1 else 's'} read"
    if not findings:
        return f"{read}: clean"
    return (
        f"{read}: {errors} error{'' if errors == 1 else 's'}, "
        f"{warnings} warning{'' if warnings == 1 else 's'}"
    )
