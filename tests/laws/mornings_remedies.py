"""Whether the remedies that a plan of a random morning offers help: each is tried."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.laws.mornings import NOW, Document, Morning
from tests.laws.mornings_checker import run

REMEDIES: Mapping[str, Callable[[Document], Document]] = {
    "write pin: Node": lambda spec: {**spec, "pin": "Node"},
    "notMigratable: LeaveRunning": lambda spec: {
        **spec,
        "drain": {**spec["drain"], "notMigratable": "LeaveRunning"},
    },
}
"""What a hint says, and the spec of an intent for which that is done."""


def useless(case: Morning) -> list[str]:
    """The remedies of a morning's plan with which its plan still holds the VM."""
    found = []
    document = answered(case)
    asked = sorted(
        (hold["intent"]["name"], words)
        for hold in document.get("holds", ())
        for words in REMEDIES
        if hold["hint"].startswith(words)
    )
    for name, words in dict.fromkeys(asked):
        intents = tuple(
            {**intent, "spec": REMEDIES[words](intent["spec"])}
            if intent["metadata"]["name"] == name
            else intent
            for intent in case.intents
        )
        after = answered(replace(case, intents=intents))
        held = {(hold["intent"]["name"], hold["vm"]["name"]) for hold in after["holds"]}
        found += [
            f"useless: {name} with {words} still holds {hold['vm']['name']}"
            for hold in document["holds"]
            if hold["hint"].startswith(words) and hold["intent"]["name"] == name
            if (name, hold["vm"]["name"]) in held
        ]
    return found


def answered(case: Morning, *, now: str = NOW) -> dict[str, Any]:
    """The printed plan of a morning."""
    with TemporaryDirectory() as folder:
        case.write(Path(folder))
        document: dict[str, Any] = json.loads(run(folder, now)[1])
    return document
