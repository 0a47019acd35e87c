"""A dotted path says what is in a module: no two modules of one layer share a base name."""

import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = frozenset({"__init__", "run", "registry", "versions"})
FOLDERS = ("intents/kinds/", "adapters/forges/")
"""Each kind and each forge has a folder with the same files."""

_CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
LAYERS = [
    [room.strip("() ") for room in layer.split("|")]
    for contract in _CONTRACTS["importlinter"]["contracts"]
    if contract["id"] == "layers"
    for layer in contract["layers"]
]


@pytest.mark.parametrize("layer", LAYERS, ids=" ".join)
def test_no_two_modules_of_a_layer_share_a_base_name(layer: list[str]) -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for room in layer:
        for path in sorted((ROOT / "gitbot" / room).rglob("*.py")):
            name = path.relative_to(ROOT / "gitbot").as_posix()
            if path.stem not in SHARED and not name.startswith(FOLDERS):
                found[path.stem].append(name)
    assert {stem: names for stem, names in found.items() if len(names) > 1} == {}


def test_the_layers_are_read() -> None:
    assert {"cli", "constraints", "model"} <= {room for layer in LAYERS for room in layer}
