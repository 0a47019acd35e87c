"""The reference page names every resource that a read of a cluster lists."""

from pathlib import Path

import pytest

from gitbot.snapshot.resources import DUMP, LISTED, Resource

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "snapshot.md"


@pytest.mark.parametrize("resource", LISTED, ids=lambda resource: resource.kind)
def test_every_right_is_documented(resource: Resource) -> None:
    group = resource.group or "(core)"
    if not resource.required:
        group += " (optional)"
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    cells = {row[1].strip(): row[2] for row in rows if len(row) == 4}
    assert resource.plural in [name.strip() for name in cells[group].split(",")]


def test_the_documented_command_dumps_every_kind_that_each_cluster_serves() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", "").replace("   ", " ")
    assert " ".join(DUMP.split()) in " ".join(text.split())
    assert {each.plural for each in LISTED if each.required} <= {*DUMP.split()[2].split(",")}


def test_the_documented_loop_dumps_every_kind_that_only_some_clusters_serve() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", "")
    kinds = text.split("for kind in ")[1].split("\ndo ")[0].split()
    assert kinds == sorted(kinds)
    assert set(kinds) == {each.kind for each in LISTED if not each.required}
