"""The list of commands, and what a person sees who mistypes one."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gitbot.cli.main import COMMANDS, cli, main


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("explian", "error: there is no command explian; did you mean explain?\n"),
        ("keepapart", "error: there is no command keepapart; did you mean keep-apart?\n"),
        ("zzz", "error: there is no command zzz; gitbot --help lists them\n"),
        ("migrate", "error: there is no command migrate; gitbot move vm/NAME\n"),
        ("logs", "error: there is no command logs; gitbot ledger show, or gitbot status\n"),
    ],
)
def test_a_mistyped_command_gets_the_nearest_one(
    typed: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([typed])
    assert ended.value.code == 2
    assert capsys.readouterr().err == answer


def test_each_command_has_one_line() -> None:
    lines = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.splitlines()
    rows = lines[lines.index("Commands:") + 1 :]
    assert [row.split()[0] for row in rows] == list(COMMANDS)


@pytest.mark.parametrize("typed", [["lint"], ["explain", "vm/a", "--snapshot", "x"], ["plan"]])
def test_a_folder_that_was_removed_under_a_person(
    typed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(SystemExit) as ended:
        main(typed)
    assert ended.value.code == 2
    said = "error: the folder that you are in was removed; cd to one that is there\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("typed", [[], ["simulate"]])
def test_group_alone_prints_its_help_and_ends_with_0(
    typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(typed)
    said = capsys.readouterr()
    assert (ended.value.code, said.err) == (0, "")
    assert said.out.startswith("Usage: gitbot")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("--snapshot none explain a", "explain --snapshot none a"),
        ("-n drain explain a --snapshot none", "explain -n drain a --snapshot none"),
        ("--zone=a simulate lose --snapshot none", "simulate lose --zone=a --snapshot none"),
    ],
)
def test_options_may_come_before_their_command(
    before: str, after: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for words in (before, after):
        with pytest.raises(SystemExit):
            main(words.split())
        said.append(capsys.readouterr())
    assert said[0] == said[1]
    assert "No such file" in said[0].err


def test_option_that_no_command_has_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--bogus", "move", "vm/a"])
    assert ended.value.code == 2
    assert "there is no option --bogus" in capsys.readouterr().err
