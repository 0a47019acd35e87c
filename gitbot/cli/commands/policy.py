"""`gitbot policy`: run the tests beside policies, list the policies in force."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.commands.policy_eval import evaluate
from gitbot.cli.shared.options import LISTED, output_option
from gitbot.cli.shared.output import document_text, shown_findings
from gitbot.cli.shared.session import colour, stages
from gitbot.errors import InvalidInput, UsageError
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.wording import nearest
from gitbot.wiring import ShippedTexts, find_root, policy_runner, read_working_tree

if TYPE_CHECKING:
    from gitbot.policy import Policy, PolicySet
    from gitbot.policy.cases import CaseResult


@click.group("policy")
def policy() -> None:
    """Policies in CEL that plans are judged by."""


policy.add_command(evaluate)


@policy.command("test")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--mutate", is_flag=True, help="Remove each validation: does a case notice?")
@output_option(LISTED, "table", shows="findings")
def test(paths: tuple[Path, ...], mutate: bool, output: str) -> None:
    """Run the tests (*.test.yaml) of the policies in PATH.

    Without PATH: of the packs that ship with gitbot, and of policies/ in this repository. A test
    may name any policy that ships with gitbot or is in PATH. The last line counts the validations
    that fail in some case.
    """
    from gitbot.policy.cases import run_tests, survivors  # noqa: PLC0415 - CEL only where used

    shipped = _shipped()
    own = _texts(paths) if paths else _own()
    texts = own if paths else {**shipped, **own}
    policies, errors = _read(shipped, own)
    unnoticed: tuple[Finding, ...] = ()
    with stages("testing policies") as progress:
        results, more = run_tests(texts, policies)
        failing = [_failed(result) for result in results if not result.passed]
        if mutate:
            progress.begins("testing policies without each of their validations")
            unnoticed = tuple(map(_survivor, survivors(texts, policies)))
    findings = (*errors, *more, *failing, *unnoticed)
    if not results and not findings:
        raise UsageError(
            "there is no policy test here", hint="tests stand beside policies, in *.test.yaml"
        )
    click.echo(_shown(results, findings, output), nl=False)
    covered = {(item.policy, number) for item in results for number in item.failed}
    tested = policies.of(item.policy for item in results)
    every = sum(len(item.validations) for item in tested)
    noticed = f"; a case notices the loss of {every - len(unnoticed)}" if mutate else ""
    click.echo(
        f"{len(results)} tests, {len(failing)} failed; {len(covered)} of {every} validations fail "
        f"in some case{noticed}",
        err=True,
    )
    if findings:
        sys.exit(1)


@policy.command("list")
@output_option(LISTED, "table")
def show(output: str) -> None:
    """List the policies in force here.

    Those of the packs that .gitbot.yaml names, and those of policies/ in this repository.
    """
    from gitbot.policy import pack_of  # noqa: PLC0415 - the CEL runtime only where used
    from gitbot.published import PolicyList, published  # noqa: PLC0415
    from gitbot.reports import columns, text  # noqa: PLC0415

    packs = _packs()
    shipped = {path: text for path, text in _shipped().items() if pack_of(path) in packs}
    policies, errors = _read(shipped, _own())
    found = policies.policies
    if output == "name":
        text_shown = "".join(f"{policy.name}\n" for policy in found)
    elif output in ("json", "yaml"):
        text_shown = document_text(published({"items": found}, PolicyList), output)
    else:
        rows = [[item.name, item.over, ",".join(item.actions), item.file] for item in found]
        text_shown = columns(["NAME", "OVER", "ACTIONS", "FILE"], rows)
    click.echo(text_shown, nl=False)
    if errors:
        click.echo(text(errors), nl=False, err=True)
        sys.exit(1)


@policy.command("explain")
@click.argument("finding")
def explain(finding: str) -> None:
    """What a policy says, why, and its cases: FINDING is policy/NAME, or the name alone."""
    from gitbot.policy.cases import run_tests  # noqa: PLC0415 - the CEL runtime only where used
    from gitbot.policy.reference_pages import page  # noqa: PLC0415

    shipped, own = _shipped(), _own()
    policies, _ = _read(shipped, own)
    name = finding.removeprefix("policy/")
    found = policies.find(name)
    if found is None:
        near = nearest(name, [policy.name for policy in policies.policies])
        hint = f"did you mean {near}?" if near else "see gitbot policy list"
        raise UsageError(f"there is no policy {name}", hint=hint)
    with stages("running the cases of policies"):
        results, _ = run_tests({**shipped, **own}, policies)
    click.echo(page(found, results), nl=False)


def _read(
    shipped: Mapping[str, str], own: Mapping[str, str]
) -> tuple[PolicySet, tuple[Finding, ...]]:
    """Those of the repository are compiled, and run, in the process with limits."""
    from gitbot.policy import read_policies  # noqa: PLC0415 - the CEL runtime only where used

    return read_policies(shipped, own, runner=policy_runner())


def _shipped() -> dict[str, str]:
    return {f"gitbot:{path}": text for path, text in ShippedTexts().policies().items()}


def _packs() -> tuple[str, ...]:
    """The packs in force around the working folder; the default where there is no repository."""
    from gitbot.settings import DEFAULT_PACKS  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring.workspace import settings_here  # noqa: PLC0415

    try:
        return settings_here(find_root(Path.cwd())).packs
    except (UsageError, InvalidInput):
        return DEFAULT_PACKS


def _own() -> Mapping[str, str]:
    """The policies of the repository around the working folder; none outside a repository."""
    try:
        root = find_root(Path.cwd())
    except UsageError:
        return {}
    return _decoded(read_working_tree(root, "policies"))


def _texts(paths: tuple[Path, ...]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no file or folder {path}")
        root, prefix = (path, "") if path.is_dir() else (path.parent, path.name)
        for name, text in _decoded(read_working_tree(root, prefix)).items():
            texts[(root / name).as_posix()] = text
    return texts


def _decoded(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: data.decode("utf-8", "replace") for name, data in files.items()}


def _failed(result: CaseResult) -> Finding:
    return Finding(
        code="policy/test-failed",
        severity=Severity.ERROR,
        message=f"{result.policy}: {result.name}: {result.problem}",
        file=result.file,
        line=result.line,
    )


def _survivor(mutant: tuple[Policy, int]) -> Finding:
    policy, index = mutant
    expression = policy.validations[index].expression.text
    return Finding(
        code="policy/untested-validation",
        severity=Severity.ERROR,
        message=f"{policy.name}: without `{expression}` every case still passes",
        file=policy.file,
        line=policy.line,
        hint="add a case in which only this validation fails",
    )


def _shown(results: tuple[CaseResult, ...], findings: tuple[Finding, ...], output: str) -> str:
    passed = [f"ok {item.policy}: {item.name}\n" for item in results if item.passed]
    lines = passed if output in ("table", "wide", "text") else []
    return "".join(lines) + shown_findings(findings, output, colour=colour())
