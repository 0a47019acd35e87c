"""The table of statements names scenarios that exist, and every scenario of a statement in it."""

import re
from pathlib import Path

HERE = Path(__file__).parent
ROW = re.compile(r"^\| (?P<statement>.+?) \| (?P<folders>`.+`) \|$", re.MULTILINE)
AUDIT_OF_ALL = {  # what an audit of the whole cluster answers: words of a true answer
    11: ("audit/node-affinity", "audit/pod-affinity", "audit/topology-spread", "a wish of weight"),
    20: (
        "all 2 pods are on node-a, which MaintenanceWindow/firmware empties",
        "a drain would wait",
    ),
    31: ("audit/pin ", "audit/git-differs", "Unpin 1 VM: default/pinned", "kind: PlacementRule"),
    39: (
        "LowNodeUtilization: over-utilised: cpu 13.12 % (by requests) is above 12 %",
        "best target",
    ),
    40: ("mode Predictive: it evicts nothing", '"code": "audit/relief"', "best target node-c"),
    41: ("each again 15 minutes to 6 hours after a migration", "the descheduler leaves it"),
    42: ("(Prometheus at 2026-12-01T00:59:20Z) is above 67.57 % (average 57.57 %)", "40 s "),
    43: (
        "a drain would migrate it",
        "stop its guest and start it elsewhere",
        "block a drain for good",
    ),
    44: ("2 here cannot move: default/db", "web   node-a   node-c"),
    45: (
        "no PSI (cpuPressure, memoryPressure, ioPressure) was measured",
        "is older than 300 seconds",
    ),
    48: ("16/17 (pressure)", "has cpuPressure above 10 %"),
    53: ("seen for 0 s, proposed after 900 s", "the next comes after 2026-12-02T00:20:22Z"),
    54: ("<59 min 57 s", "<2 d 59 min"),
}
NEEDS = {
    "maintenance changes no VM spec": ("specs: byte-identical", "audit/pin "),
    "audit of existing breaches": ("audit/rule-broken", "a wish of weight"),
    "rules that cannot hold": ("audit/contradiction", "law.yaml:21"),
    "what if a node or a zone": (
        "lose node-a",
        "lose --zone c",
        "drain kni-worker6, kni-worker2: 2 moves",
    ),
    "peace with other movers": (
        "workload updater moves 1 VM",
        "a descheduler runs here",
        "mode Automatic, every 60 s",
        "in front",
    ),
}


def rows() -> dict[str, list[str]]:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    return {found["statement"]: found["folders"].split(", ") for found in ROW.finditer(text)}


def test_every_statement_has_a_scenario_that_runs() -> None:
    named = {name.strip("`") for folders in rows().values() for name in folders}
    ways = {
        path.parent.name for way in ("session.txt", "story.py") for path in HERE.glob(f"*/{way}")
    }
    assert named <= ways


def test_a_scenario_of_a_statement_carries_its_number() -> None:
    numbered = {
        int(statement[1:].partition(":")[0]): folders
        for statement, folders in rows().items()
        if re.match(r"B\d+:", statement)
    }
    assert set(numbered) == set(AUDIT_OF_ALL)
    for number, (folder,) in numbered.items():
        assert folder.startswith(f"`b{number:02}_")


def test_a_row_shows_what_its_statement_says() -> None:
    unproven = dict(AUDIT_OF_ALL.items() | NEEDS.items())
    for statement, folders in rows().items():
        number = re.match(r"B(\d+):", statement)
        key = int(number[1]) if number else next(key for key in NEEDS if statement.startswith(key))
        printed = "".join(
            path.read_text(encoding="utf-8")
            for name in folders
            for pattern in ("session.txt", "expected/*")
            for path in sorted((HERE / name.strip("`")).glob(pattern))
        )
        assert [words for words in unproven.pop(key) if words not in printed] == [], statement
    assert unproven == {}
