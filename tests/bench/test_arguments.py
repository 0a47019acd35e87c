"""`python -m tests.bench`: what is not understood is refused, not passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.__main__ import benchmarks, chosen


def test_all_benchmarks_or_those_named() -> None:
    assert chosen([]).names == benchmarks()
    assert {"ingest", "planner"} < set(benchmarks())
    assert chosen(["planner", "ingest", "planner"]).names == ("planner", "ingest")


def test_where_public_data_lies(tmp_path: Path) -> None:
    assert chosen([]).data is None
    assert chosen(["maintenance", "--data", str(tmp_path)]).data == tmp_path


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--ful"], "unrecognized arguments: --ful"),
        (["plan"], "there is no benchmark 'plan', expected "),
        (["planner", "-x"], "unrecognized arguments: -x"),
        (["--data", "nowhere"], "--data: there is no folder nowhere"),
    ],
)
def test_what_is_not_understood_ends_with_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        chosen(arguments)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
