"""Whether the remedies that a plan of a random morning offers help: each is tried."""

import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gitbot.model.cluster.opt_out import LABEL
from tests.doubles.problems import HOSTNAME, ZONE, node, vm
from tests.laws.mornings import API, NOW, Document, Morning
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

    A wish may stay broken, if it blocks nothing. The VM may be held for another reason then: a
    morning has many.
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
                and item["asked"] >= hold["asked"]
            ]
    return found


_MORE = re.compile(r"at least (\d+)(Gi|Mi) more memory is needed on ([^;,]*)")
_PLACE = re.compile(
    r"(one|\d+) more places? of ([\d.]+)(Gi|Mi) memory (?:is|are) needed among ([^;,]*)"
)
_FREE = re.compile(r"at least ([\d.]+)(Gi|Mi) memory must be free on one of ([^;,]*)")
_NODE = re.compile(
    r"(?:another|(\d+) more) nodes? that may take them|"
    r"(?:a node in another zone|nodes in (\d+) more zones) that may take them"
)
_STANDBY = re.compile(r"a stand-by node(?: with \S+)?(?: in (zone|another zone) ?(\w*))? would do")
_SOFT = re.compile(r"enforcement: Preferred in intents/lab/(\d+)\.yaml")
_ROLLING = re.compile(r"([\w, ]+) could go without the others; mode: Rolling empties")
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
    yield from _more_room(case, hint)
    if found := _SOFT.search(hint):
        yield found.group(), _written(case, int(found[1]), enforcement="Preferred")
    if hold["code"] == "opted-out":
        yield "no label of the owner", _without_label(case, hold["vm"]["name"])
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


def _more_room(case: Morning, hint: str) -> Iterator[tuple[str, Morning]]:
    """More places on a node that is named, or more nodes."""
    every = [item["metadata"]["name"] for item in case.nodes]
    if found := _PLACE.match(hint):
        places = 1 if found[1] == "one" else int(found[1])
        names = re.findall(r"n\d\d", found[4])[:1] or every
        yield found.group(), _larger(case, places * _mebi(found[2], found[3]), "Mi", names)
    if found := _FREE.match(hint):
        names = re.findall(r"n\d\d", found[3]) or every
        yield found.group(), _larger(case, _mebi(found[1], found[2]), "Mi", names)
    zones = sorted(item["metadata"]["labels"][ZONE] for item in case.nodes)
    if found := _NODE.match(hint):
        in_zones = "zone" in found.group()
        yield found.group(), _with_nodes(case, "" if in_zones else zones[0], found[1] or found[2])
    if found := _STANDBY.match(hint):
        yield found.group(), _with_nodes(case, found[2] if found[1] == "zone" else "", None)


def _mebi(amount: str, unit: str) -> int:
    return math.ceil(float(amount) * (1024 if unit == "Gi" else 1))


def _with_nodes(case: Morning, zone: str, count: str | None) -> Morning:
    """With large nodes in a zone, or each in a zone of its own."""
    more = (
        node(f"n9{number}", zone=zone or f"z9{number}", labels={"disk": "ssd"}, memory="64Gi")
        for number in range(int(count or 1))
    )
    return replace(case, nodes=(*case.nodes, *more))


def _written(case: Morning, number: int, **fields: object) -> Morning:
    intent = case.intents[number]
    changed = {**intent, "spec": {**intent["spec"], **fields}}
    return replace(case, intents=(*case.intents[:number], changed, *case.intents[number + 1 :]))


def opting_out(case: Morning) -> Morning:
    """The morning, in which the owner of every third VM keeps gitbot away from it."""
    values = ("never", "only-requested", "later")
    groups = tuple(
        tuple(_labelled(obj, values[number // 3 % 3]) for obj in group)
        if number % 3 == 0
        else group
        for number, group in enumerate(case.vms)
    )
    return replace(case, vms=groups)


def _labelled(obj: Document, value: str) -> Document:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), LABEL: value}}}


def _without_label(case: Morning, vm: str) -> Morning:
    def free(obj: Document) -> Document:
        metadata = obj["metadata"]
        labels = {k: v for k, v in metadata.get("labels", {}).items() if k != LABEL}
        is_it = obj["kind"] == "VirtualMachineInstance" and metadata["name"] == vm
        return {**obj, "metadata": {**metadata, "labels": labels}} if is_it else obj

    return replace(case, vms=tuple(tuple(map(free, group)) for group in case.vms))


def together(case: Morning) -> Morning:
    """The morning, whose windows empty their nodes together."""

    def joined(intent: Document) -> Document:
        if intent["kind"] != "MaintenanceWindow":
            return intent
        drain = intent["spec"]["drain"]
        left = {k: v for k, v in drain.items() if k not in ("maxNodesAtOnce", "order")}
        return {**intent, "spec": {**intent["spec"], "drain": {**left, "mode": "Together"}}}

    return replace(case, intents=tuple(map(joined, case.intents)))


def stuck_when_rolling(case: Morning) -> list[str]:
    """VMs on nodes that could go without the others, held although their drain is rolling."""
    asked = answered(together(case)).get("holds", ())
    named = [(hold, found) for hold in asked if (found := _ROLLING.match(hold["hint"]))]
    if not named:
        return []
    after = answered(case)["holds"]
    held = {(hold["intent"]["name"], hold["vm"]["name"]) for hold in after}
    homes = {
        obj["metadata"]["name"]: obj["status"].get("nodeName", "")
        for group in case.vms
        for obj in group
        if obj["kind"] == "VirtualMachineInstance"
    }
    return [
        f"stuck: {hold['vm']['name']} of {hold['intent']['name']} with mode: Rolling"
        for hold, found in named
        if homes[hold["vm"]["name"]] in found[1].split(", ")
        and (hold["intent"]["name"], hold["vm"]["name"]) in held
    ]


def squeezed(seed: int) -> Morning:
    """Three to five nearly full nodes, VMs that must be apart, and a drain or a rule to heal."""
    draw = random.Random(seed)
    zones = draw.randint(2, 3)
    names = [f"n{number:02}" for number in range(draw.randint(3, 5))]
    sizes = draw.choice(((2, 3), (3, 4), (3,)))
    nodes = tuple(
        node(name, zone=f"z{number % zones}", memory="8Gi", cpu="64")
        for number, name in enumerate(names)
    )
    groups: list[tuple[Document, ...]] = []
    for name in names:
        left = 8
        while left >= (size := draw.choice(sizes)) and draw.random() < 0.9:
            left -= size
            labels = {"app": draw.choice(("x", "y", "z"))}
            number = f"vm{len(groups):03}"
            groups.append(
                vm(number, on=name, namespace="team-0", labels=labels, memory=f"{size}Gi")
            )
    window = {"nodes": {"names": [names[0]]}, "drain": {"cordon": "External"}}
    rule = {
        "selector": {"matchLabels": {"app": "x"}},
        "topologyKey": draw.choice((ZONE, HOSTNAME)),
        "heal": "Propose",
    }
    intents = (
        {"kind": "MaintenanceWindow", "metadata": {"name": "w0"}, "spec": window},
        {
            "kind": "ZoneAntiAffinity",
            "metadata": {"name": "r0", "namespace": "team-0"},
            "spec": rule,
        },
    )
    versioned = tuple({"apiVersion": API, **intent} for intent in intents)
    chosen = draw.choice((versioned[:1], versioned[1:], versioned))
    return Morning(nodes=nodes, vms=tuple(groups), strangers=(), limits={}, intents=chosen)


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
