"""`gitbot simulate drain` and `gitbot plan` say the same of the same nodes, on random mornings."""

import contextlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from gitbot.cli.main import main
from tests.laws.mornings import API, NOW, Morning, morning

KEPT = frozenset({"PlacementRule", "ZoneAntiAffinity", "FreezeWindow"})
"""Kinds that `simulate drain` heeds; windows and requests of a morning are not of the question."""

Seen = tuple[list[tuple[str, str, str]], list[tuple[str, str]]]
"""Moves as VM, source and target; holds as VM and code."""


def said(folder: str, *words: str) -> dict[str, Any]:
    """The document that a command prints in a folder."""
    out, here = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            main([*words, "--snapshot", "cluster.yaml", "--now", NOW, "-o", "json"])
    except SystemExit:
        pass
    finally:
        os.chdir(here)
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def with_window(case: Morning, names: Sequence[str], drain: dict[str, Any]) -> Morning:
    spec = {
        "nodes": {"names": list(names)},
        "drain": {"cordon": "Gitbot", "notMigratable": "LeaveRunning", **drain},
        "returnHome": "Never",
    }
    window = {
        "apiVersion": API,
        "kind": "MaintenanceWindow",
        "metadata": {"name": "simulated"},
        "spec": spec,
    }
    rules = (
        {**intent, "spec": {**intent["spec"], "heal": "Report"}}  # a healing is a goal of its own
        if "heal" in intent["spec"]
        else intent
        for intent in case.intents
        if intent["kind"] in KEPT
    )
    return replace(case, intents=(*rules, window))


def named(vm: dict[str, str]) -> str:
    return f"{vm['namespace']}/{vm['name']}"


def both(case: Morning, names: Sequence[str], *, rolling: bool) -> tuple[Seen, Seen]:
    """What `plan` says of a window over the nodes, and `simulate drain` of the same nodes."""
    together = {"mode": "Together"} if len(names) > 1 else {}
    drain: dict[str, Any] = {"reboot": "PT0S"} if rolling else together
    with TemporaryDirectory() as folder:
        with_window(case, names, drain).write(Path(folder))
        plan = said(folder, "plan")
        forecast = said(folder, "simulate", "drain", *names, *(["--rolling"] if rolling else []))
    mine = "simulated"
    planned = (
        sorted(
            (named(move["vm"]), move["from"]["node"], move["to"]["node"])
            for move in plan["moves"]
            if move["intent"]["name"] == mine
        ),
        sorted(
            (named(hold["vm"]), hold["code"])
            for hold in plan["holds"]
            if hold["intent"]["name"] == mine
        ),
    )
    simulated = (
        sorted((move["vm"], move["source"], move["to"]) for move in forecast["moves"]),
        sorted((hold["vm"], hold["code"]) for hold in forecast["holds"]),
    )
    return planned, simulated


def differences(seed: int) -> list[str]:
    case = morning(seed, most=6)
    names = sorted(
        name
        for intent in case.intents
        if intent["kind"] == "MaintenanceWindow"
        for name in intent["spec"]["nodes"]["names"]
    ) or [case.nodes[0]["metadata"]["name"]]
    found = []
    for rolling in (False, True):
        planned, simulated = both(case, names, rolling=rolling)
        if planned != simulated:
            found.append(f"{seed} {names} rolling={rolling}: {planned} against {simulated}")
    return found


def test_plan_and_simulated_drain_agree() -> None:
    assert [line for seed in (6, 14, 65, 75) for line in differences(seed)] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_plan_and_simulated_drain_agree_on_many_mornings() -> None:
    assert [line for seed in range(80) for line in differences(seed)] == []
