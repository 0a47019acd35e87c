"""The picture of the house shows the layers that import-linter holds."""

import itertools
import re
import tomllib
from typing import Any

from tests.docs.scratch import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = PROJECT["tool"]["importlinter"]["contracts"]
LAYERS: list[str] = next(item for item in CONTRACTS if item["id"] == "layers")["layers"]


def layers() -> dict[str, int]:
    """Room to the number of its layer from the top; rooms that may be missing are left out."""
    present = [line for line in LAYERS if not line.startswith("(")]
    return {room.strip(): n for n, line in enumerate(present) for room in line.split("|")}


def arrows() -> list[tuple[str, str]]:
    """Each arrow of the picture: `a --> b & c --> d` has four."""
    picture = re.search(r"```mermaid\nflowchart TB\n(.*?)```", PAGE, re.DOTALL)
    assert picture is not None, "docs/architecture.md has no picture of the layers"
    labels = dict(re.findall(r'(\w+)\["(.*?)"\]', picture[1]))
    found: list[tuple[str, str]] = []
    for line in re.sub(r'\[".*?"\]', "", picture[1]).splitlines():
        steps = [[name.strip() for name in part.split("&")] for part in line.split("-->")]
        for left, right in itertools.pairwise(steps):
            found += itertools.product(left, right)
    return [(labels.get(left, left), labels.get(right, right)) for left, right in found]


def test_every_room_of_the_layers_is_in_the_picture_and_no_other() -> None:
    assert {room for arrow in arrows() for room in arrow} == set(layers())


def test_arrows_point_to_the_next_layer_below() -> None:
    number = layers()
    assert [arrow for arrow in arrows() if number[arrow[1]] != number[arrow[0]] + 1] == []


def test_every_room_has_a_paragraph() -> None:
    named = set(re.findall(r"^\*\*(\w+)\*\* — ", PAGE, re.MULTILINE))
    assert sorted(set(layers()) - {"__main__"} - named) == []
