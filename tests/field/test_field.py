"""Shapes of public files and reported bugs, rebuilt: the real command gives the right answer."""

import json
import re
from pathlib import Path

import pytest

from tests.field.shapes import NOW, Shape, shapes, write
from tests.unit.cli.desk import typed

ALL = shapes()


@pytest.mark.field
@pytest.mark.parametrize("shape", [pytest.param(each, id=each.id) for each in ALL])
def test_shape(shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(shape, tmp_path)
    monkeypatch.chdir(tmp_path)
    if shape.times is not None:
        assert freezes() == list(shape.times)
    if shape.explain:
        explained(shape)
    for command in shape.run:
        said = typed(*command.split())
        assert said.code == (shape.code or 0), said.text
        for words in shape.says:
            assert re.search(words, said.text), said.text
        for words in shape.never:
            assert not re.search(words, said.text), said.text


def freezes() -> list[str]:
    """When the calendar freezes, from 2026-10-01 to 2027-10-01."""
    said = typed("lint")
    assert said.code == 0, said.text
    asked = ("--from", "2026-10-01", "--until", "2027-10-01", "-o", "json", "--now", NOW)
    said = typed("calendar", *asked)
    assert said.code == 0, said.text
    return [f"{each['start']}/{each['end']}" for each in json.loads(said.out)["events"]]


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
        assert each.explain or each.times is not None or each.says or each.never, each.id
