"""Completion by a shell's Tab, and `gitbot help`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from gitbot.cli.main import COMMANDS, cli, main
from gitbot.cli.shared.output import shown_findings
from gitbot.model.plan.findings import Finding, Severity
from tests.doubles.intents import HEAD, REQUEST
from tests.unit.cli.desk import Desk, at_desk

WINDOW = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [kni-worker]}}
"""


def offered(*words: str) -> list[str]:
    """What is offered for the last word."""
    *before, incomplete = words
    shell = ShellComplete(cli, {}, "gitbot", "_GITBOT_COMPLETE")
    return [item.value for item in shell.get_completions(before, incomplete)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as monkeypatch, at_desk(folder, monkeypatch) as desk:
        desk.commit(jump=REQUEST, window=WINDOW)
        assert desk.gitbot("reconcile").code == 0
        desk.git("fetch", "-q")
        yield desk


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("re",), ["render", "reconcile", "resume", "returned"]),
        (("get", "w"), ["windows"]),
        (("plan", "--cluster", ""), ["iberia"]),
        (("explain", "--window", ""), ["firmware"]),
        (("explain", "--request", "cu"), ["customapp/jump"]),
        (("cancel", "request/"), ["request/customapp/jump"]),
        (("status", "request/customapp/j"), ["request/customapp/jump"]),
        (("move", "vm/j"), ["vm/jumpbox"]),
        (("move", "-n", "nowhere", "vm/j"), []),
        (("move", "vm/jumpbox", "-n", ""), ["customapp"]),
        (("move", "vm/jumpbox", "--to", "kni-worker5"), ["kni-worker5"]),
        (("drain", "kni-worker6"), ["kni-worker6"]),
        (("returned", "kni-worker6"), ["kni-worker6"]),
        (("drain", "kni-worker6", "--sta"), ["--start"]),
        (("apply", "-o", ""), ["table", "json", "yaml"]),
    ],
)
def test_a_tab_offers_commands_options_and_names(
    words: tuple[str, ...], expected: list[str]
) -> None:
    assert offered(*words) == expected


def test_a_tab_outside_a_repository_offers_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert offered("move", "vm/") == []
    assert offered("plan", "--cluster", "") == []


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "gitbot"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitbot "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(gitbot completion bash)"
        COMP_WORDS=(gitbot dra) COMP_CWORD=1
        _gitbot_completion gitbot
        echo "${COMPREPLY[@]}"
    """
    root = str(Path(__file__).parents[3])
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path, "PYTHONPATH": root},
        cwd=tmp_path,
    )
    assert done.stdout == "drain\n", done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_their_script(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert "_GITBOT_COMPLETE" in result.output


def test_help_is_what_help_shows(capsys: pytest.CaptureFixture[str]) -> None:
    ways = (
        (["help"], ["--help"]),
        (["help", "move"], ["move", "--help"]),
        (["help", "help"], ["help", "--help"]),
    )
    for typed, same in ways:
        texts = []
        for words in (typed, same):
            with pytest.raises(SystemExit) as ended:
                main(words)
            assert ended.value.code == 0
            texts.append(capsys.readouterr().out)
        assert texts[0] == texts[1]
    with pytest.raises(SystemExit):
        main(["help", "mvoe"])
    assert capsys.readouterr().err == "error: there is no command mvoe; did you mean move?\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("intents/unknown-field", "Unknown field (intents/unknown-field)\n\na field that the kind"),
        ("policy/quorum", "Quorum (policy/quorum)\n\nthe message of a policy"),
        ("policy/quorum", "\ngitbot policy explain policy/quorum\n"),
        ("policy/expression", "docs/reference/findings.md#policy-"),
    ],
)
def test_help_says_what_a_finding_means(
    code: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["help", code])
    assert ended.value.code == 0
    assert shown in capsys.readouterr().out


def test_help_names_a_page_that_exists(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITBOT_DOCS", raising=False)
    with pytest.raises(SystemExit):
        main(["help", "intents/unknown-field"])
    address = urlsplit(capsys.readouterr().out.splitlines()[-1])
    assert address.scheme == "file"
    assert Path(address.path).is_file()


def test_help_names_the_nearest_finding(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["help", "intent/unknown-field"])
    said = capsys.readouterr().err
    assert said == (
        "error: there is no finding intent/unknown-field; did you mean intents/unknown-field?\n"
    )


def test_sarif_links_to_the_documentation_that_the_package_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finding = Finding(code="intents/unknown-field", severity=Severity.ERROR, message="m")
    named = Message()
    named["Project-URL"] = "Documentation, https://docs.example/gitbot/"
    monkeypatch.delenv("GITBOT_DOCS", raising=False)
    monkeypatch.setattr("importlib.metadata.metadata", lambda _: named)
    assert '"helpUri": "https://docs.example/gitbot/reference/findings.md#intents' in (
        shown_findings((finding,), "sarif")
    )
    monkeypatch.setenv("GITBOT_DOCS", "https://other.example/ref")
    assert '"helpUri": "https://other.example/ref/findings.md#' in (
        shown_findings((finding,), "sarif")
    )


def test_sarif_links_to_a_page_on_this_machine_where_no_address_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GITBOT_DOCS", raising=False)
    monkeypatch.setattr("importlib.metadata.metadata", lambda _: Message())
    finding = Finding(code="intents/unknown-field", severity=Severity.ERROR, message="m")
    document = json.loads(shown_findings((finding,), "sarif"))
    (rule,) = document["runs"][0]["tool"]["driver"]["rules"]
    address, _, place = rule["helpUri"].partition("#")
    page = Path(urlsplit(address).path)
    assert address.startswith("file:///")
    assert "| `intents/unknown-field` | error |" in page.read_text(encoding="utf-8")
    assert place == "intents-what-documents-say"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_wrong_option_is_one_line_with_the_same_prefix(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--no-such-option"])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: there is no option --no-such-option; ")
    assert line.endswith((" --help shows how", "?"))
