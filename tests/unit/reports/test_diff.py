import re
from dataclasses import replace
from typing import Any

import pytest

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import (
    Bound,
    Drained,
    Manifest,
    Move,
    NodeReasons,
    NodeRef,
    OptimalityProof,
    PlacementPlan,
    RuleState,
    VmRef,
)
from gitbot.model.plan.problem import Limits
from gitbot.model.text.names import IntentRef
from gitbot.reports import Diff, Preview, brief, placement_diff, terminal
from gitbot.reports.html.page import html
from gitbot.reports.picture import picture
from gitbot.reports.sentence import memory, sentence
from tests.doubles.comments import markdown
from tests.unit.reports.plans import HOLD, PLAN, RULE, STARTS, move, node

PLACES = {"mssql-a": 6, "mssql-c": 6, "mssql-d": 4}
SNAPSHOT = ClusterSnapshot(
    cluster="iberia",
    taken_at=STARTS - 60,
    digest="sha256:" + "c" * 64,
    objects={
        "Node": tuple(
            {
                "metadata": {
                    "name": node(number).node,
                    "labels": {"topology.kubernetes.io/zone": node(number).zone},
                }
            }
            for number in range(1, 7)
        ),
        "VirtualMachineInstance": tuple(
            {
                "metadata": {"namespace": "customapp", "name": name},
                "status": {"nodeName": node(number).node},
            }
            for name, number in PLACES.items()
        ),
    },
)
DENY = Finding(code="policy/deny", severity=Severity.ERROR, message="2 moves, at most 1")
WRONG = Finding(code="intents/unknown-vm", severity=Severity.ERROR, message="there is no VM x")
WARN = Finding(code="policy/warn", severity=Severity.WARNING, message="old snapshot")


def diff(plan: PlacementPlan = PLAN, **more: Any) -> Diff:
    return placement_diff(
        plan,
        snapshot=SNAPSHOT,
        digest="sha256:" + "d" * 64,
        expires_at=STARTS + 86_400,
        now=STARTS,
        bandwidth=64 * 2**20,
        **more,
    )


READY = replace(PLAN, holds=())


@pytest.mark.parametrize(
    ("made", "state", "counts"),
    [
        (diff(), "blocked", "2 moves, 1 blocked, rule breaks 1 → 0"),
        (diff(READY), "ready", "2 moves, 0 blocked, rule breaks 1 → 0"),
        (diff(READY, findings=(WARN,)), "ready, with warnings",
         "2 moves, 0 blocked, rule breaks 1 → 0"),
        (diff(READY, findings=(WARN, DENY)), "denied",
         "1 error (policy/deny), 2 moves, 0 blocked, rule breaks 1 → 0"),
        (diff(READY, findings=(WRONG,)), "blocked",
         f"1 error ({WRONG.code}), 2 moves, 0 blocked, rule breaks 1 → 0"),
        (diff(PlacementPlan(cluster="iberia")), "nothing to do",
         "0 moves, 0 blocked, rule breaks 0 → 0"),
        (diff(replace(PLAN, moves=PLAN.moves[: 1], holds=(replace(HOLD, asked=False),))), "ready",
         "1 move, 0 blocked, rule breaks 1 → 0"),
    ],
)  # fmt: skip
def test_verdict_and_counts(made: Diff, state: str, counts: str) -> None:
    assert (made.state, made.counts) == (state, counts)
    assert f"**{state}**" in markdown(made)
    assert f"**{counts}**" in markdown(made)
    assert terminal(made).startswith(f"iberia: {state}: {counts}\n")


def test_a_drain_that_falls_short_says_which_nodes_can_be_emptied() -> None:
    line = "window firmware: 2 of 3 nodes can be emptied: n1, n2; not n3"
    assert f"\n{line}\n" in terminal(diff())
    assert f"**{line}**" in markdown(diff())
    assert f">{line}</p>" in html(diff(), templates=ShippedTexts().templates())
    none = Drained(request=RequestId.read("drain/d/1"), emptied=(), kept=("n1",))
    assert "d: 0 of 1 node can be emptied; not n1" in terminal(diff(replace(PLAN, drains=(none,))))
    whole = Drained(request=RequestId.read("drain/d/1"), emptied=("n1",), kept=())
    assert "emptied" not in terminal(diff(replace(PLAN, drains=(whole,))))


@pytest.mark.parametrize(
    ("bound", "known"),
    [
        (Bound(moves=1, seconds=300), "no plan has fewer than 1 move, or takes less than 300 s"),
        (Bound(moves=2, seconds=600, proof=OptimalityProof.COUNTED),
         "no plan has fewer moves (each is needed), or takes less than 600 s"),
        (Bound(moves=2, seconds=600, proof=OptimalityProof.SEARCHED),
         "no plan has fewer moves (all were searched), or takes less than 600 s"),
        (Bound(moves=5, seconds=600), "all that is asked needs 5 moves and 600 s or more"),
    ],
)  # fmt: skip
def test_a_plan_says_what_was_minimised_and_how_near_it_came(bound: Bound, known: str) -> None:
    made = terminal(diff(replace(PLAN, bound=bound)))
    assert made.splitlines().count(
        "minimised in this order: new rule breaks 0, VMs without a place 1, moves 2, memory 32 GiB,"
        f" soft rule breaks 0, then the scheduler's score; {known}"
    )
    assert "minimised" not in terminal(diff(replace(PLAN, minimised=())))


def test_the_header_names_the_codes_of_errors_few_of_them() -> None:
    errors = [replace(WRONG, code=f"intents/{name}", line=n) for n, name in enumerate("baca")]
    made = diff(PlacementPlan(cluster="iberia"), findings=(*errors, WARN))
    assert made.counts.startswith("4 errors (intents/a, intents/b, …), 0 moves, 0 blocked")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(), "at most 4 at once (1 of 5 is kept free for others), 2 away from a node"),
        (Limits(parallel=9, reserve=3), "at most 6 at once (3 of 9 are kept free for others), "),
        (Limits(reserve=0), "at most 5 at once, 2 away from a node"),
        (Limits(parallel=1), "at most 1 at once, 2 away from a node"),
    ],
)
def test_the_queue_says_the_reserve(limits: Limits, words: str) -> None:
    made = diff(replace(PLAN, limits=limits))
    assert made.queue.startswith(words)
    assert made.queue in terminal(made)
    assert made.queue in markdown(made)
    assert "at once" not in terminal(diff(replace(PLAN, limits=limits, moves=())))


@pytest.mark.parametrize(
    ("ahead", "age"),
    [
        (-600, "10 min before this plan"),
        (30, "0 min before this plan"),
        (31, "from the future: 1 min after this plan"),
        (3_600, "from the future: 60 min after this plan"),
    ],
)
def test_a_snapshot_from_the_future_is_called_so(ahead: int, age: str) -> None:
    made = diff()
    made = replace(made, now=made.plan.snapshot.taken_at - ahead)
    assert f"({age})" in markdown(made)
    assert (f"({age}), approve before" in terminal(made)) is (ahead > 30)


def test_comment_starts_with_the_summary_and_ends_with_commands() -> None:
    lines = markdown(diff()).splitlines()
    assert lines[0] == "<!-- gitbot:plan:iberia -->"
    assert lines[3] == "Moves customapp/mssql-c, customapp/mssql-d (32 GiB) to sab, scu."
    assert lines[9].startswith("plan `sha256:dddd")
    assert "snapshot Fri 2025-12-05 20:59 UTC (1 min before this plan)" in lines[9]
    assert lines[11:15] == [
        (
            "- **approve before**: Sat 2025-12-06 21:00 UTC: then this plan expires, and a merge "
            "approves nothing"
        ),
        (
            "- **estimate**: 10 min for 2 moves, Fri 2025-12-05 21:00&#45;21:10 UTC, at 64 MiB/s a "
            "migration"
        ),
        (
            "- **queue now**: empty: no migration runs or waits; gitbot&#39;s have no priority: "
            "they queue behind evacuations and upgrades"
        ),
        (
            "- **if a move fails**: its VM keeps running where it is, the rest of its group is "
            "withdrawn, and gitbot proposes what is left"
        ),
    ]
    assert "| `customapp/mssql-a` | `no-feasible-node`: no node of zone scu can take it" in (
        "\n".join(lines)
    )
    assert lines[-4:] == [
        "gitbot explain vm/mssql-a -n customapp",
        "gitbot render",
        "gitbot status",
        "```",
    ]


def test_touched_nodes_before_and_after() -> None:
    found = {item.name: (item.before, item.after) for item in diff().nodes}
    assert found == {
        "kni-worker4": (("customapp/mssql-d",), ()),
        "kni-worker6": (
            ("customapp/mssql-a", "customapp/mssql-c"),
            ("customapp/mssql-a", "customapp/mssql-d"),
        ),
        "kni-worker2": ((), ("customapp/mssql-c",)),
    }


def many(number: int, nodes: int) -> PlacementPlan:
    def at(index: int) -> NodeRef:
        return NodeRef(node=f"n{index:03}", zone=f"z{index % 3}")

    def one(index: int) -> Move:
        base = move(index + 1, name=f"vm-{index:04}")
        return replace(base, source=at(index % nodes), to=at((index * 7 + 1) % nodes))

    holds = tuple(replace(HOLD, vm=replace(HOLD.vm, name=f"h{index}")) for index in range(number))
    return replace(PLAN, moves=tuple(one(index) for index in range(number)), holds=holds)


def test_picture_is_by_zone_above_forty_nodes() -> None:
    snapshot = replace(
        SNAPSHOT,
        objects={
            "Node": tuple(
                {
                    "metadata": {
                        "name": f"n{index:03}",
                        "labels": {"topology.kubernetes.io/zone": f"z{index % 3}"},
                    }
                }
                for index in range(60)
            )
        },
    )
    made = placement_diff(
        many(60, 60),
        snapshot=snapshot,
        digest="",
        expires_at=STARTS,
        now=STARTS,
        bandwidth=1,
    )
    assert len(made.nodes) > 40
    drawn = picture(made)
    assert 'before_z0["z0<br/>20 nodes, 0 VMs"]' in drawn
    assert 'before_z0 -->|"20 VMs"| after_z1' in drawn
    assert "n001" not in drawn


def test_nothing_moves_no_picture() -> None:
    assert picture(diff(PlacementPlan(cluster="iberia"))) == ""


@pytest.mark.parametrize("number", [10, 400, 4000])
def test_comment_never_exceeds_the_limit_and_keeps_the_summary(number: int) -> None:
    manifests = tuple(
        Manifest(kind="X", name=f"m{index}", namespace="n", object={}, text="y" * 900)
        for index in range(number)
    )
    text = markdown(
        diff(many(number, 30), manifests=manifests, findings=(DENY,) * 3),
    )
    assert len(text.encode("utf-8")) <= 65_536
    assert f"**3 errors (policy/deny), {number} moves, {number} blocked" in text
    assert "at most 1" in text
    assert text.rstrip().endswith("gitbot status\n```")
    assert ("left out here" in text) is (number > 10)


def test_text_of_people_is_inert_in_every_format() -> None:
    evil = 'x"] end @alice | </details> \x1b[31m\u202e'
    plan = replace(
        PLAN,
        cluster=evil,
        moves=(
            replace(
                PLAN.moves[0],
                why=evil,
                vm=replace(PLAN.moves[0].vm, name=evil),
                to=NodeRef(node=evil, zone=evil),
            ),
        ),
        holds=(replace(HOLD, reason=evil, hint=evil),),
    )
    made = diff(plan, previews=(Preview(title=evil, plan=plan),), commands=(evil,))
    text = markdown(made)
    rendered = text.rpartition("```console")[0]
    assert "@alice" not in rendered
    assert rendered.count("</details>") == rendered.count("<details>") == 3
    for shown in (text, terminal(made)):
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_what_was_not_asked_for_is_not_called_blocked() -> None:
    text = markdown(diff(replace(PLAN, holds=(replace(HOLD, asked=False),))))
    assert "**Stay where they are**" in text
    assert "**Blocked**" not in text


def test_many_waves_are_folded() -> None:
    waves = tuple(replace(PLAN.waves[0], index=index) for index in range(13))
    assert "<details><summary>13 waves</summary>" in markdown(diff(replace(PLAN, waves=waves)))
    assert "**Waves**" in markdown(diff())


def test_nodes_with_the_same_reasons_are_said_once() -> None:
    nodes = tuple(
        NodeReasons(node=f"n{index:02}", reasons=("no room", "tainted")) for index in range(14)
    )
    made = diff(replace(PLAN, holds=(replace(HOLD, nodes=nodes, hint=""),)))
    assert "`n10`, `n11` and 2 more: no room; tainted" in markdown(made)
    assert "| gitbot explain vm/mssql-a -n customapp |" in markdown(made)
    assert "  n00, n01, n02" in terminal(made)


def test_checks_that_warn_stand_before_those_that_passed() -> None:
    text = markdown(diff(READY))
    loud = "- `customapp/mssql-c` `cpu-model` **warn**: vendor guard is off"
    quiet = "- passed for `customapp/mssql-c`, `customapp/mssql-d`: `live-migratable`"
    assert text.index(loud) < text.index(quiet)


def test_preview_is_named_as_outside_the_approval() -> None:
    preview = Preview(title="drain of scu-firmware", plan=PLAN)
    text = markdown(diff(READY, previews=(preview,)))
    assert "Preview, not approved by a merge: drain of scu-firmware (2 moves" in text
    assert "- `customapp/mssql-a` stays: no node of zone scu can take it" in text


def test_terminal_table() -> None:
    lines = terminal(diff(READY)).splitlines()
    assert lines[5] == "Moves customapp/mssql-c, customapp/mssql-d (32 GiB) to sab, scu."
    assert [line.split(":")[0] for line in lines[6:9]] == [
        "estimate",
        "queue now",
        "if a move fails",
    ]
    assert lines[10:13] == [
        (
            "WAVE   NAMESPACE   VM        FROM                TO                  CHECKS         "
            "   WHY"
        ),
        (
            "1      customapp   mssql-c   kni-worker6 (sab)   kni-worker2 (scu)   1/2 (cpu-model)"
            "   asked for by MigrationRequest customapp/db-to-scu"
        ),
        (
            "2      customapp   mssql-d   kni-worker4 (bcn)   kni-worker6 (sab)   1/2 (cpu-model)"
            "   asked for by MigrationRequest customapp/db-to-scu"
        ),
    ]
    assert "\x1b[31mblocked\x1b[0m" in terminal(diff(), colour=True)
    assert "uid-mssql-c" in terminal(diff(), wide=True)


SENTENCES = [
    ("drain/fw/20251201T040000Z", "MaintenanceWindow", "Empties a: 1 VM with 8 GiB moves to b"),
    (
        "return/fw/20251201T040000Z",
        "MaintenanceWindow",
        "Brings 1 VM with 8 GiB home to b after fw",
    ),
    (
        "heal/app/ZoneAntiAffinity/db/0123456789ab",
        "ZoneAntiAffinity",
        "Heals ZoneAntiAffinity app/db: 1 VM with 8 GiB moves to b",
    ),
    ("request/app/db", "MigrationRequest", "Moves app/db-1 (8 GiB) to b"),
]


@pytest.mark.parametrize(("request_id", "kind", "said"), SENTENCES)
def test_one_sentence_says_what_happens(request_id: str, kind: str, said: str) -> None:
    plan = diff().plan
    only = replace(
        plan.moves[0],
        request=RequestId.read(request_id),
        group=f"{request_id}/a",
        intent=IntentRef(kind=kind, namespace="app", name="db", file="f", line=1),
        vm=VmRef(namespace="app", name="db-1", uid="1"),
        source=NodeRef(node="a", zone="x"),
        to=NodeRef(node="b", zone="y"),
        memory_bytes=8 * 2**30,
    )
    assert sentence(replace(plan, moves=(only,))) == said
    assert sentence(replace(plan, moves=())) == ""
    other = replace(only, id=9, request=RequestId.read("request/app/other"))
    assert sentence(replace(plan, moves=(only, other))) == f"{said}; moves app/db-1 (8 GiB) to b"


def test_priority_is_said_once() -> None:
    assert markdown(diff()).count("priority") == 1
    assert terminal(diff()).count("priority") == 1


@pytest.mark.parametrize(
    ("applies", "words"),
    [
        (True, " · mode Enforce\n"),
        (False, "**mode Observe: nothing moves until `.gitbot.yaml` says `mode: Enforce`**\n"),
    ],
)
def test_the_comment_says_in_which_mode_gitbot_is(applies: bool, words: str) -> None:
    assert words in markdown(replace(diff(), applies=applies))


def test_a_brief_has_nine_lines_at_most_and_says_what_it_leaves_out() -> None:
    many = replace(
        PLAN,
        moves=tuple(move(number, name=f"vm-{number}") for number in range(1, 8)),
        holds=(HOLD,) * 5,
    )
    shown = diff(many, findings=(WARN,) * 6, previews=(Preview(title="drain/w", plan=many),))
    lines = brief(shown).splitlines()
    assert len(lines) == 9
    assert re.search(r"^  and \d+ more lines \(-v\)$", lines[-1])
    few = brief(diff(READY)).splitlines()
    assert "(-v)" not in "".join(few)
    assert sum(" -> " in line for line in few) == len(READY.moves)


def test_openings_that_change_and_broken_rules_are_said_before_the_moves() -> None:
    broken = RuleState(
        intent=RULE, required=True, before=1, after=1, after_messages=("zone sab holds 2",)
    )
    nothing = replace(READY, moves=(), rules=(broken,))
    shown = replace(diff(nothing, findings=(WARN,)), openings=("freeze q: 1 appears: Sat",))
    assert "\nfreeze q: 1 appears: Sat\n" in terminal(shown)
    lines = brief(shown).splitlines()
    assert "  freeze q: 1 appears: Sat" in lines
    assert f"  {RULE.id} is broken: zone sab holds 2" in lines


def test_rules_that_hold_are_one_line_but_for_wide() -> None:
    holds = RuleState(intent=RULE, required=True, before=0, after=0)
    broken = replace(PLAN, rules=(*PLAN.rules, holds, holds))
    assert "\n2 rules hold before and after\n" in terminal(diff(broken))
    assert terminal(diff(broken)).count("Required") == 1
    assert terminal(diff(broken), wide=True).count("Required") == 3


def test_a_short_plan_says_what_helps_a_vm_that_stays() -> None:
    helped = replace(HOLD, hint="write pin: Node")
    (line,) = [
        row for row in brief(diff(replace(PLAN, holds=(helped,)))).splitlines() if " stays" in row
    ]
    assert line.endswith(f"[{HOLD.code}]; write pin: Node")


@pytest.mark.parametrize(
    ("gibibytes", "words"),
    [(0, "0 MiB"), (0.5, "512 MiB"), (8, "8 GiB"), (9_999, "9999 GiB"), (9_999.9, "9.766 TiB"),
     (12_544, "12.25 TiB")],
)  # fmt: skip
def test_memory_never_reads_as_a_power_of_ten(gibibytes: float, words: str) -> None:
    assert memory(int(gibibytes * 2**30)) == words
