"""`gitbot policy`: run the tests beside policies, list the policies in force."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.options import FINDING_FORMATS, output_option
from gitbot.cli.showing import shown_findings
from gitbot.errors import UsageError
from gitbot.model.findings import Finding, Severity
from gitbot.wiring import ShippedTexts, find_root, read_working_tree

if TYPE_CHECKING:
    from gitbot.policy.cases import CaseResult


@click.group("policy")
def policy() -> None:
    """Policies in CEL that plans are judged by."""


@policy.command("test")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@output_option(FINDING_FORMATS, "text")
def run(paths: tuple[Path, ...], output: str) -> None:
    """Run the tests (*.test.yaml) of the policies in PATH.

    Without PATH: of the packs that ship with gitbot, and of policies/ in this repository. A test
    may name any policy that ships with gitbot or is in PATH.
    """
    from gitbot.policy import read_policies  # noqa: PLC0415 - the CEL runtime only where used
    from gitbot.policy.cases import run_tests  # noqa: PLC0415

    shipped = _shipped()
    texts = _texts(paths) if paths else {**shipped, **_own()}
    policies, errors = read_policies({**shipped, **texts})
    results, more = run_tests(texts, policies)
    findings = (*errors, *more, *(_failed(result) for result in results if not result.passed))
    if not results and not findings:
        raise UsageError(
            "there is no policy test here", hint="tests stand beside policies, in *.test.yaml"
        )
    click.echo(_shown(results, findings, output), nl=False)
    failed = sum(not result.passed for result in results)
    click.echo(f"{len(results)} tests, {failed} failed", err=True)
    if findings:
        sys.exit(1)


@policy.command("list")
def show() -> None:
    """List the policies in force here.

    Those that ship with gitbot, and those of policies/ in this repository.
    """
    from gitbot.policy import read_policies  # noqa: PLC0415 - the CEL runtime only where used
    from gitbot.reports import columns, text  # noqa: PLC0415

    policies, errors = read_policies({**_shipped(), **_own()})
    rows = [
        [policy.name, policy.over, ",".join(policy.actions), policy.file]
        for policy in policies.policies
    ]
    click.echo(columns(["NAME", "OVER", "ACTIONS", "FILE"], rows), nl=False)
    if errors:
        click.echo(text(errors), nl=False, err=True)
        sys.exit(1)


def _shipped() -> dict[str, str]:
    return {f"gitbot:{path}": text for path, text in ShippedTexts().policies().items()}


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
            raise UsageError(f"there is no {path}")
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


def _shown(results: tuple[CaseResult, ...], findings: tuple[Finding, ...], output: str) -> str:
    passed = [f"ok {item.policy}: {item.name}\n" for item in results if item.passed]
    lines = passed if output == "text" else []
    return "".join(lines) + shown_findings(findings, output)
