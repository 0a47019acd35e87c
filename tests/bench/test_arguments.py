"""`python -m tests.bench` runs what is named, and refuses what it does not understand."""

from pathlib import Path

import pytest

from tests.bench.__main__ import benchmarks, chosen


def test_all_benchmarks_or_those_named(tmp_path: Path) -> None:
    assert chosen([]).names == benchmarks()
    assert chosen(["growth", "ingest", "growth"]).names == ("growth", "ingest")
    assert (chosen([]).data, chosen(["--data", str(tmp_path)]).data) == (None, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--ful"], "unrecognized arguments: --ful"),
        (["plan"], "there is no benchmark 'plan', expected "),
        (["--data", "nowhere"], "--data: there is no folder nowhere"),
    ],
)
def test_unknown_arguments_end_with_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        chosen(arguments)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
