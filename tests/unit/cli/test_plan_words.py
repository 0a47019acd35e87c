"""`gitbot plan -o markdown` shows the comment by the template of this folder."""

from pathlib import Path

import pytest

from tests.doubles.problems import node, vm
from tests.scenarios.small_clusters import kubevirt
from tests.unit.cli.test_field_plans import ASKED, MOVE, plan

OWN = "{{ marker }}\n# Ask #virt\n{{ summary }}{{ move_table }}{{ folded_moves }}"


@pytest.mark.parametrize(
    ("template", "first", "said"),
    [
        (OWN, "# Ask #virt", ""),
        ("{{ nobody }}", "✅ gitbot on", "templates/comment.md.j2:1: found a template that ends"),
    ],
)
def test_the_comment_has_the_words_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, first: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/comment.md.j2").write_text(template, encoding="utf-8")
    found = plan(
        tmp_path, MOVE, kubevirt(), node("n1"), node("n2"), vm("a", on="n1", labels=ASKED),
        form="markdown",
    )  # fmt: skip
    assert found.out.splitlines()[1].startswith(first)
    assert said in found.err
