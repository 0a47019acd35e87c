"""Shapes of public files and reported bugs, rebuilt: the real command gives the right answer."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitbot.adapters.clock import SystemClock
from tests.field.shapes import HEAD, NOW, Shape, freezes, shapes, write
from tests.unit.cli.desk import Said, at_desk, typed

ALL = shapes()
STORIES = [each for each in ALL if each.story]


@pytest.mark.field
@pytest.mark.parametrize(
    "shape", [pytest.param(each, id=each.id) for each in ALL if not each.story]
)
def test_shape(shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(shape, tmp_path)
    monkeypatch.chdir(tmp_path)
    if shape.times is not None:
        assert freezes() == list(shape.times)
    if shape.explain:
        explained(shape)
    for command in shape.run:
        check(typed(*command.split()), shape.code or 0, shape.says, shape.never)


def check(said: Said, code: int, says: Iterable[str], never: Iterable[str]) -> None:
    assert said.code == code, said.text
    for words in says:
        assert re.search(words, said.text), said.text
    for words in never:
        assert not re.search(words, said.text), said.text


@pytest.mark.field
@pytest.mark.parametrize("shape", [pytest.param(each, id=each.id) for each in STORIES])
def test_story(shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        cluster = desk.loop.cluster
        monkeypatch.setattr(SystemClock, "now", lambda _: cluster.now())
        monkeypatch.setattr(SystemClock, "sleep", lambda _, seconds: cluster.advance(seconds))
        opened = set[str]()
        for step in shape.story:
            if "commit" in step:
                branch = step.get("branch", "main")
                files = {f"{name}.yaml": written(obj) for name, obj in step["commit"].items()}
                if branch == "main" or branch in opened:
                    desk.loop.commit(files, branch=branch)
                else:
                    desk.loop.open(files, branch=branch)
                    opened.add(branch)
                desk.git("pull", "-q", "--ff-only")
                continue
            said = desk.gitbot(*step["run"].split())
            says, never = ([step[key]] if key in step else [] for key in ("says", "never"))
            check(said, step.get("code", 0), says, never)


def written(obj: Mapping[str, Any] | None) -> str | None:
    return None if obj is None else HEAD + yaml.safe_dump(dict(obj))


def explained(shape: Shape) -> None:
    """Which nodes take the VM, and by which plugin another refuses it."""
    asked = (*shape.explain.split(), "--snapshot", "cluster", "-o", "json", "--no-intents")
    said = typed("explain", *asked, "--now", NOW)
    assert said.code == 0, said.text
    subject = json.loads(said.out)["subjects"][0]
    assert sorted(subject["feasible"]) == sorted(shape.feasible), said.text
    plugins = {
        each["name"]: " ".join(it["plugin"] for it in each["rejections"])
        for each in subject["nodes"]
        if each["name"] in shape.plugins
    }
    assert plugins == shape.plugins, said.text


def test_each_shape_is_asked_something_and_has_an_id_of_its_own() -> None:
    ids = [each.id for each in ALL]
    assert len(ids) == len(set(ids))
    for each in ALL:
        asked = each.explain or each.times is not None or each.says or each.never or each.story
        assert asked, each.id
