"""MigrationRequests on a cluster: goals, times, and what is wrong with each."""

import pytest

from gitbot.intents.compile import RequestHistory, compile_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import Pin, Target
from gitbot.model.text.instants import FOREVER, Interval, parse_instant
from tests.doubles.problems import NOW, ZONE
from tests.unit.intents.compile_scene import (
    FILE,
    intents_of,
    request,
    said,
    small_cluster,
    snapshot_of,
)

WINDOW = """kind: MaintenanceWindow
metadata: {name: w}
spec: {schedule: {start: "2026-12-06T22:00", duration: PT4H, recurrence: "FREQ=WEEKLY;COUNT=2"}}"""


@pytest.mark.parametrize(
    ("spec", "vms", "target", "pin"),
    [
        ("{vms: {names: [db-1]}, target: {node: n2}}", "db-1", Target(nodes=("n2",)), Pin.NODE),
        ("{vms: {names: [web, db-1]}}", "db-1 web", Target(), Pin.NONE),
        ("{vms: {names: [db-1]}, pin: Node}", "db-1", Target(), Pin.NODE),
        ("{vms: {names: [db-1]}, target: {zone: y}}", "db-1", Target(node_selector={ZONE: "y"}),
         Pin.ZONE),
        ("{vms: {names: [db-1]}, target: {nodeSelector: {kubernetes.io/hostname: n3}}}", "db-1",
         Target(node_selector={"kubernetes.io/hostname": "n3"},
                added={"kubernetes.io/hostname": "n3"}), Pin.NONE),
        ("{vms: {onNode: n2}}", "db-2 web", Target(), Pin.NONE),
        ("{vms: {selector: {matchLabels: {tier: db}}}}", "db-1 db-2", Target(), Pin.NONE),
        ("{vms: {selector: {matchLabels: {tier: db}}, maxCount: 2}}", "db-1 db-2", Target(),
         Pin.NONE),
    ],
)  # fmt: skip
def test_goals(spec: str, vms: str, target: Target, pin: Pin) -> None:
    goals, findings = compile_requests(
        intents_of(request("r", spec)), snapshot_of(small_cluster()), now=NOW
    )
    assert said(findings) == []
    (goal,) = goals
    assert goal.request.id == "request/a/r"
    assert goal.request.allowed == (Interval(start=0, end=FOREVER),)
    assert [vm.name for vm in goal.vms] == vms.split()
    assert {vm.namespace for vm in goal.vms} == {"a"}
    assert (goal.target, goal.pin) == (target, pin)


@pytest.mark.parametrize(
    ("spec", "goals", "expected"),
    [
        ("{vms: {names: [db-11]}}", 1,
         ["error unknown-vm spec.vms.names[0]: there is no VM a/db-11; did you mean db-1?"]),
        ("{vms: {names: [nothing-like-it]}}", 1,
         [("error unknown-vm spec.vms.names[0]: there is no VM a/nothing-like-it; "
          "names are those of VMIs; see kubectl get vmi")]),
        ("{vms: {names: [db-1, other]}}", 1,
         [("error vm-in-other-namespace spec.vms.names[1]: there is no VM other in "
          "namespace a, but in b; a request acts in its own namespace only; "
          "see metadata.namespace")]),
        ("{vms: {names: [idle]}}", 1,
         [("error vm-stopped spec.vms.names[0]: VM a/idle is stopped (Stopped), so "
          "there is nothing to migrate; start the VM first")]),
        ("{vms: {names: [db-1]}, target: {node: n9}}", 0,
         ['error unknown-node spec.target.node: there is no node "n9"; see kubectl get nodes']),
        ("{vms: {names: [db-1]}, target: {zone: z}}", 0,
         ['error unknown-zone spec.target.zone: no node is in zone "z"; zones here: x, y']),
        ("{vms: {names: [db-1]}, target: {nodeSelector: {disk: fast}}}", 0,
         [("error unknown-nodes spec.target.nodeSelector: no node has disk=fast; "
          "see node labels")]),
        ("{vms: {names: [db-1]}, target: {node: n1}}", 1,
         [("warning already-there spec.target: already where the request wants them: "
          "db-1 on n1; it moves none of them")]),
        ("{vms: {selector: {matchLabels: {tier: cache}}}}", 0,
         [("error selects-nothing spec.vms.selector: selects no running VM in namespace "
          "a; selectors read the labels of VMIs; see kubectl get vmi --show-labels")]),
        ("{vms: {selector: {matchLabels: {tier: db}}, maxCount: 1}}", 0,
         [("error blast-radius spec.vms.maxCount: selects 2 VMs, more than maxCount 1: "
          "the request moves none; narrow the selector, or raise maxCount")]),
        ("{vms: {onNode: n9}}", 0,
         ['error unknown-node spec.vms.onNode: there is no node "n9"; see kubectl get nodes']),
        ("{vms: {onNode: n3}}", 0,
         [("warning nothing-to-do spec.vms.onNode: no VM of namespace a runs on n3: "
          "nothing to do")]),
        ('{vms: {names: [db-1]}, deadline: "2026-12-06T20:59:59Z"}', 0,
         [("error deadline-passed spec.deadline: the deadline 2026-12-06T20:59:59Z has "
          "passed (now 2026-12-06T21:00:00Z); give a later one")]),
    ],
)  # fmt: skip
def test_findings(spec: str, goals: int, expected: list[str]) -> None:
    found, findings = compile_requests(
        intents_of(request("r", spec)), snapshot_of(small_cluster()), now=NOW
    )
    assert said(findings) == expected
    assert len(found) == goals


def test_a_finding_stands_where_an_editor_would_underline_it() -> None:
    intents = intents_of(request("r", "{vms: {names: [db-1, db-9]}}"))
    _, (finding,) = compile_requests(intents, snapshot_of(small_cluster()), now=NOW)
    assert finding.where == f"{FILE}:4:28"


FIRST = parse_instant("2026-12-06T21:00:00Z")
WEEK = 604_800


@pytest.mark.parametrize(
    ("times", "now", "allowed"),
    [
        ("", FIRST - 9, [(FIRST, FIRST + 14_400), (FIRST + WEEK, FIRST + WEEK + 14_400)]),
        ("", FIRST + 9, [(FIRST, FIRST + 14_400), (FIRST + WEEK, FIRST + WEEK + 14_400)]),
        ("", FIRST + 14_400, [(FIRST + WEEK, FIRST + WEEK + 14_400)]),
        (
            ', notBefore: "2026-12-07T00:00Z"',
            FIRST - 9,
            [(FIRST + 10_800, FIRST + 14_400), (FIRST + WEEK, FIRST + WEEK + 14_400)],
        ),
        (', deadline: "2026-12-06T22:00Z"', FIRST - 9, [(FIRST, FIRST + 3_600)]),
        (', deadline: "2026-12-12T20:00Z"', FIRST + 14_400, None),
        ("", FIRST + 2 * WEEK, None),
    ],
)
def test_times_inside_a_window(times: str, now: int, allowed: list[tuple[int, int]] | None) -> None:
    intents = intents_of(WINDOW, request("r", f"{{vms: {{names: [db-1]}}, window: w{times}}}"))
    goals, findings = compile_requests(
        intents, snapshot_of(small_cluster()), now=now, zone="Europe/Madrid"
    )
    if allowed is None:
        assert goals == ()
        assert [finding.code for finding in findings] == ["intents/never-open"]
        return
    assert findings == ()
    assert [(each.start, each.end) for each in goals[0].request.allowed] == allowed


def test_never_open_names_the_next_opening() -> None:
    intents = intents_of(
        WINDOW,
        request("r", '{vms: {names: [db-1]}, window: w, deadline: "2026-12-10T20:00Z"}'),
    )
    _, findings = compile_requests(
        intents, snapshot_of(small_cluster()), now=FIRST + 14_400, zone="Europe/Madrid"
    )
    assert said(findings) == [
        (
            "error never-open spec.window: window w is never open before 2026-12-10T20:00:00Z; it "
            "opens Sun 2026-12-13 22:00 Europe/Madrid (2026-12-13T21:00:00Z), in 6 d 20 h, for 4 h"
        )
    ]


def test_what_the_ledger_knows() -> None:
    intents = intents_of(
        request("done", "{vms: {names: [db-1]}}"),
        request("late", '{vms: {names: [db-1]}, deadline: "2026-12-01T00:00Z"}'),
        request("reused", "{vms: {names: [web]}}"),
        request("edited", "{vms: {names: [web]}}"),
        request("running", "{vms: {names: [db-2]}}"),
    )
    digests = {intent.ref.name: intent.spec_digest for intent in intents.intents}
    past = RequestHistory(
        finished=frozenset(
            {
                RequestId.read("request/a/done"),
                RequestId.read("request/a/late"),
                RequestId.read("request/a/reused"),
            }
        ),
        started={
            RequestId.read("request/a/done"): digests["done"],
            RequestId.read("request/a/late"): digests["late"],
            RequestId.read("request/a/reused"): "sha256:of-another",
            RequestId.read("request/a/edited"): "sha256:of-another",
            RequestId.read("request/a/running"): digests["running"],
        },
        highest_moves={RequestId.read("request/a/running"): 4},
    )
    goals, findings = compile_requests(intents, snapshot_of(small_cluster()), now=NOW, past=past)
    assert [(goal.request.id, goal.request.first_move) for goal in goals] == [
        (RequestId.read("request/a/edited"), 1),
        ("request/a/running", 5),
    ]
    assert sorted(finding.code for finding in findings) == [
        "intents/edited-after-start",
        "intents/finished-name",
    ]


def test_only_some() -> None:
    intents = intents_of(
        request("one", "{vms: {names: [db-1]}}"), request("two", "{vms: {names: [nobody]}}")
    )
    goals, findings = compile_requests(
        intents, snapshot_of(small_cluster()), now=NOW, only={RequestId.read("request/a/one")}
    )
    assert [goal.vms for goal in goals] == [(NamespacedName(namespace="a", name="db-1"),)]
    assert findings == ()
