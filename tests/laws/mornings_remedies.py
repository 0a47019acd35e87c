"""Whether the remedies that a plan of a random morning offers help: each is tried."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.laws.mornings import NOW, Document, Morning
from tests.laws.mornings_checker import run

REMEDIES: Mapping[str, Callable[[Document, str], Document]] = {
    "write pin: Node": lambda spec, _: {**spec, "pin": "Node"},
    "write allowBreach": lambda spec, hint: {**spec, "allowBreach": hint.split()[2].rstrip(":")},
    "notMigratable: LeaveRunning": lambda spec, _: {
        **spec,
        "drain": {**spec["drain"], "notMigratable": "LeaveRunning"},
    },
}
"""How a hint begins, and the spec of an intent for which that is done."""


def useless(case: Morning) -> list[str]:
    """The remedies of a morning's plan with which its plan still holds the VM."""
    found = []
    document = answered(case)
    asked = sorted(
        (hold["intent"]["name"], words, hold["hint"])
        for hold in document.get("holds", ())
        for words in REMEDIES
        if hold["hint"].startswith(words)
    )
    for name, words, hint in {item[:2]: item for item in asked}.values():
        intents = tuple(
            {**intent, "spec": REMEDIES[words](intent["spec"], hint)}
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


def still_there(case: Morning) -> list[str]:
    """The reasons of a morning's plan that are still there once a person did what they name.

    The VM may be held for another reason then: a morning has many.
    """
    found = []
    for hold in answered(case).get("holds", ()):
        for words, after in done(case, hold):
            left = answered(after).get("holds", ())
            found += [
                f"still there: {hold['code']} of {hold['vm']['name']} after {words}"
                for item in left
                if all(item[key] == hold[key] for key in ("vm", "code", "reason"))
                and item["intent"]["name"] == hold["intent"]["name"]
            ]
    return found


_MORE = re.compile(r"at least (\d+)(Gi|Mi) more memory is needed on ([^;,]*)")
_FILE = re.compile(r"intents/lab/(\d+)\.yaml")


def done(case: Morning, hold: Document) -> Iterator[tuple[str, Morning]]:
    """The mornings after what the hint of a hold says, each with what was done."""
    hint, name = hold["hint"], hold["intent"]["name"]
    if found := _MORE.match(hint):
        yield found.group(), _larger(case, int(found[1]), found[2], found[3].split(" or "))
    if re.match("change intents/|see intents/", hint):
        for number in map(int, _FILE.findall(hint.partition(";")[0])):
            if case.intents[number]["metadata"]["name"] != name:
                rest = (*case.intents[:number], *case.intents[number + 1 :])
                yield f"no intents/lab/{number}.yaml", replace(case, intents=rest)
    if hold["code"] == "in-flight":
        yield "the migration ended", _without_migrations(case, hold["vm"]["name"])
    if hold["code"] == "deadline":
        intents = tuple(
            {**item, "spec": {k: v for k, v in item["spec"].items() if k != "deadline"}}
            if item["metadata"]["name"] == name
            else item
            for item in case.intents
        )
        yield "no deadline", replace(case, intents=intents)


def _larger(case: Morning, amount: int, unit: str, names: list[str]) -> Morning:
    """So much more memory on each of these nodes, or on all where the hint names a kind of node."""
    known = {node["metadata"]["name"] for node in case.nodes}
    chosen = set(names) if known.issuperset(names) else known
    more = amount * (1024 if unit == "Gi" else 1)

    def size(node: Document) -> Document:
        status, before = node["status"], node["status"]["allocatable"]["memory"]
        sizes = {"memory": f"{int(before.removesuffix('Gi')) * 1024 + more}Mi"}
        grown = {key: {**status[key], **sizes} for key in ("allocatable", "capacity")}
        return {**node, "status": {**status, **grown}}

    nodes = tuple(size(n) if n["metadata"]["name"] in chosen else n for n in case.nodes)
    return replace(case, nodes=nodes)


def _without_migrations(case: Morning, vm: str) -> Morning:
    def stays(obj: Document) -> bool:
        mine = obj["kind"] == "VirtualMachineInstanceMigration"
        return not (mine and obj["spec"]["vmiName"] == vm)

    def at_rest(obj: Document) -> Document:
        status = {k: v for k, v in obj.get("status", {}).items() if k != "migrationState"}
        is_it = obj["kind"] == "VirtualMachineInstance" and obj["metadata"]["name"] == vm
        return {**obj, "status": status} if is_it else obj

    groups = tuple(tuple(at_rest(obj) for obj in group if stays(obj)) for group in case.vms)
    left = tuple(filter(stays, case.strangers))
    return replace(case, vms=groups, strangers=left)


def answered(case: Morning, *, now: str = NOW) -> dict[str, Any]:
    """The printed plan of a morning."""
    with TemporaryDirectory() as folder:
        case.write(Path(folder))
        document: dict[str, Any] = json.loads(run(folder, now)[1])
    return document
