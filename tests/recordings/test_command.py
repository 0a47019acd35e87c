"""Recordings of KubeVirt v1.9.0 on Kubernetes v1.36.3, made on 2026-11-21, played again."""

import copy
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.recordings.__main__ import DIFFERENT, EQUAL, UNREADABLE, main
from tests.recordings.records import read_records

RECORDED = Path(__file__).parent / "recorded"
FILES = {
    "target-pods": (),
    "source-pods-refused": (),
    "admission": ("--admission",),
    "traces": ("--traces",),
}
COUNTS = {"target-pods": 478, "source-pods-refused": 12, "admission": 181, "traces": 45}
Record = dict[str, Any]


@cache
def records(name: str) -> tuple[Record, ...]:
    return tuple(read_records(RECORDED / f"{name}.jsonl.gz"))


def record(name: str, key: str) -> Record:
    keys = ("record", "case", "scenario")
    found = (item for item in records(name) if key in (item.get(one) for one in keys))
    return copy.deepcopy(next(found))


def replayed(path: Path, *options: str) -> tuple[int, list[Record], str]:
    out, err = io.StringIO(), io.StringIO()
    code = main([str(path), *options], out, err)
    return code, [json.loads(line) for line in out.getvalue().splitlines()], err.getvalue()


def played(folder: Path, name: str, *given: Record) -> tuple[int, list[Record]]:
    path = folder / "given.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in given))
    code, lines, _ = replayed(path, *FILES[name])
    return code, lines


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_record_is_equal(name: str) -> None:
    code, lines, told = replayed(RECORDED / f"{name}.jsonl.gz", *FILES[name])
    assert [line for line in lines if not line.get("equal")] == []
    assert code == EQUAL
    assert len(lines) == COUNTS[name]
    assert f"{COUNTS[name]} records: {COUNTS[name]} equal, 0 different" in told


# An altered recording is found out, with the object and the path.


def node_selector(item: Record) -> None:
    item["target_pod"]["spec"]["nodeSelector"]["topology.kubernetes.io/zone"] = "nowhere"


def memory(item: Record) -> None:
    compute = item["target_pod"]["spec"]["containers"][0]["resources"]["requests"]
    compute["memory"] = "1Ki"


def spread(item: Record) -> None:
    item["target_pod"]["spec"]["topologySpreadConstraints"] = []


def verdict(item: Record) -> None:
    item["answer"]["allowed"] = True


def code(item: Record) -> None:
    item["answer"]["code"] = 409


def message(item: Record) -> None:
    item["answer"]["message"] += " (another one)"


def of_event(item: Record, kind: str, name: str, path: str) -> Record:
    for event in item["events"]:
        changed: Record = event.get("changed") or {}
        if event.get("kind") == kind and event.get("name") == name and path in changed:
            return changed
    raise AssertionError((kind, name, path))


def phase(item: Record) -> None:
    of_event(item, "VirtualMachineInstanceMigration", "m1", "phase")["phase"] = "Failed"


def landing(item: Record) -> None:
    of_event(item, "Pod", "virt-launcher-vm1-p2", "nodeName")["nodeName"] = "w1"


def said(item: Record) -> None:
    event = next(e for e in item["events"] if e.get("event") == "SuccessfulMigration")
    event["message"] = "something else"


def survivor(item: Record) -> None:
    item["final"]["m1"] = {"kind": "VirtualMachineInstanceMigration", "phase": "Succeeded"}


def answer(item: Record) -> None:
    event = next(e for e in item["events"] if "-> refused" in e.get("actor", ""))
    event["actor"] = event["actor"].replace("refused", "accepted")


def fewer_at_once(item: Record) -> None:
    item["kubevirt_spec"]["configuration"]["migrations"] = {"parallelMigrationsPerCluster": 4}


def more_at_once(item: Record) -> None:
    item["kubevirt_spec"]["configuration"]["migrations"] = {"parallelMigrationsPerCluster": 9}


def user_first(item: Record) -> None:
    """A user's migration and an evacuation change places."""
    one, other = "m-u3", "kubevirt-evacuation-m2"
    vms = {one: "u3", other: "e1"}
    starts = {}
    for name in (one, other):
        pod = next(
            e
            for e in item["events"]
            if e.get("kind") == "Pod" and f" {name}>" in json.dumps(e.get("added") or {})
        )
        starts[name] = pod["t"]
    shift = starts[one] - starts[other]
    for event in item["events"]:
        about = json.dumps(event)
        for name, step in ((one, -shift), (other, shift)):
            mine = name in about or f"-{vms[name]}-p2" in about or event.get("name") == vms[name]
            if mine and event["t"] >= min(starts.values()) - 0.1:
                event["t"] = round(event["t"] + step, 2)
                break
    item["events"].sort(key=lambda event: event["t"])


@pytest.mark.parametrize(
    ("name", "key", "alter", "field"),
    [
        ("target-pods", "default/default-000/1", node_selector, "spec.nodeSelector["),
        ("target-pods", "default/default-000/1", memory, "spec.containers.compute.requests.memory"),
        ("target-pods", "default/default-000/1", spread, "spec.topologySpreadConstraints"),
        ("admission", "vmim-create-vmi-missing", verdict, "allowed"),
        ("admission", "vmim-create-vmi-missing", code, "code"),
        ("admission", "evict-repeated", message, "message"),
        ("traces", "selector-zone", phase, "phase"),
        ("traces", "selector-zone", landing, "spec.nodeName"),
        ("traces", "selector-zone", said, "Event on VirtualMachineInstanceMigration"),
        ("traces", "gc-8", survivor, "final"),
        ("traces", "cluster-limit-5", fewer_at_once, ""),
        ("traces", "cluster-limit-5", more_at_once, ""),
        ("traces", "evict-strategies", answer, "answer"),
        ("traces", "priority-queue", user_first, "order of starts"),
    ],
)
def test_an_altered_recording_is_found_out(
    tmp_path: Path, name: str, key: str, alter: Callable[[Record], None], field: str
) -> None:
    item = record(name, key)
    assert played(tmp_path, name, item)[0] == EQUAL
    alter(item)
    result, (line,) = played(tmp_path, name, item)
    assert result == DIFFERENT
    assert line["equal"] is False
    assert line["difference"]["field"].startswith(field)
    assert line["difference"]["recorded"] != line["difference"]["ours"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "No such file"),
        (b"\n \n", "found no record"),
        (b"\x1f\x8bgarbage", "name a file of recorded JSON lines"),
        (b"{\n", "not recorded JSON lines"),
        (b'{"record": "x"}\n', "record 1 is not in the form of a recording"),
    ],
)
def test_unreadable_file_ends_with_2(tmp_path: Path, data: bytes | None, told: str) -> None:
    path = tmp_path / "file.jsonl.gz"
    if data is not None:
        path.write_bytes(data)
    result, lines, message_ = replayed(path)
    assert (result, lines) == (UNREADABLE, [])
    assert told in message_
