"""Reads the tables of this folder and rebuilds the input of each shape."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import node, pod, vm
from tests.field.dumps import dump
from tests.scenarios.small_clusters import kubevirt, machine
from tests.unit.cli.desk import typed

HERE = Path(__file__).parent
TABLES = sorted(HERE.glob("*.yaml"))
NOW = "2026-12-06T21:00:00Z"
HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
CONFIGURATION = (
    HEAD
    + """\
kind: Configuration
metadata: {name: default}
spec:
  clusters: [{name: lab, timeZone: Europe/Madrid}]
"""
)
FREEZE = (
    HEAD
    + """\
kind: FreezeWindow
metadata: {name: quiet}
spec: {calendar: {path: a.ics}, reason: holidays}
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One shape of a public file or report: where from, what is right, and what gitbot is asked."""

    id: str
    source: str  # repository with path and commit, or with the number of its thread
    shape: str
    right: str
    by: str  # what defines the right answer
    before: str  # what gitbot said when the shape was first tried
    run: tuple[str, ...] = ()
    code: int | None = None
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    explain: str = ""
    feasible: tuple[str, ...] = ()
    plugins: Mapping[str, str] = field(default_factory=dict)
    ics: str = ""
    times: tuple[str, ...] | None = None
    kubevirt: Mapping[str, Any] = field(default_factory=dict)
    nodes: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    vms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stopped: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    pods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    objects: tuple[Mapping[str, Any], ...] = ()
    intents: str = ""
    files: Mapping[str, Any] = field(default_factory=dict)
    dump: str = "list"
    story: tuple[Mapping[str, Any], ...] = ()


def shapes() -> list[Shape]:
    return [_shape(each) for table in TABLES for each in yaml.safe_load(table.read_text())]


def _shape(written: Mapping[str, Any]) -> Shape:
    lists = ("run", "says", "never", "feasible", "times", "objects", "story")
    many = {key: _many(value) for key, value in written.items() if key in lists}
    return Shape(**{**written, **many})


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def merged(base: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    found = dict(base) if isinstance(base, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def cluster(shape: Shape) -> list[KubernetesObject]:
    """Its objects: what the builders of the tests make, patched as the table says."""
    found: list[Any] = [kubevirt(**shape.kubevirt)] if shape.vms or shape.stopped else []
    for name, given in shape.nodes.items():
        words = dict(given or {})
        patch = words.pop("patch", {})
        found.append(merged(node(name, **words), patch))
    for name, given in shape.vms.items():
        words = dict(given)
        patches = words.pop("vmi", {}), words.pop("pod", {})
        pair = zip(vm(name, on=words.pop("at"), **words), patches, strict=True)
        found += [merged(each, patch) for each, patch in pair]
    for name, given in shape.stopped.items():
        found.append(merged(machine(name), given or {}))
    for name, given in shape.pods.items():
        words = dict(given)
        patch = words.pop("patch", {})
        found.append(merged(pod(name, on=words.pop("at", ""), **words), patch))
    return [*found, *shape.objects]


def write(shape: Shape, folder: Path) -> None:
    """The repository, and the cluster in `cluster` as the dump says."""
    intents = folder / "intents" / "lab"
    intents.mkdir(parents=True)
    (folder / ".gitbot.yaml").write_text(CONFIGURATION)
    if shape.intents:
        (intents / "all.yaml").write_text(shape.intents)
    if shape.ics:
        (intents / "freeze.yaml").write_text(FREEZE)
        (intents / "a.ics").write_bytes(calendar(shape.ics))
    if any(path.startswith("vms/") for path in shape.files):
        (folder / ".gitbot.yaml").write_text(f"{CONFIGURATION}  manifests: [{{path: vms}}]\n")
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for path, content in shape.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        file.write_text(text)
    objects = cluster(shape)
    if objects:
        dump(folder, objects, shape.dump)


def calendar(text: str) -> bytes:
    """The file; lines without a calendar around them are those of one event."""
    if "BEGIN:VEVENT" not in text:
        text = f"BEGIN:VEVENT\nUID:1@example\nDTSTAMP:20260101T000000Z\n{text}END:VEVENT\n"
    if "BEGIN:VCALENDAR" not in text:
        text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//example//EN\n{text}END:VCALENDAR\n"
    return text.replace("\n", "\r\n").encode()


def freezes() -> list[str]:
    """When the calendar freezes, from 2026-10-01 to 2027-10-01."""
    said = typed("lint")
    assert said.code == 0, said.text
    asked = ("--from", "2026-10-01", "--until", "2027-10-01", "-o", "json", "--now", NOW)
    said = typed("calendar", *asked)
    assert said.code == 0, said.text
    return [f"{each['start']}/{each['end']}" for each in json.loads(said.out)["events"]]
