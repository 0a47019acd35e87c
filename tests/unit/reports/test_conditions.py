"""When and how a plan is carried out, as its reviewer reads it."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.calendar import local_text
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Manifest, PlacementPlan
from gitbot.model.plan.problem import Freeze
from gitbot.model.text.instants import FOREVER, Interval
from gitbot.reports import Conditions, PlanConditions, Preview, QueuedMigration, terminal
from tests.doubles.comments import markdown
from tests.unit.reports.plans import HOLD, PLAN, RULE, STARTS, move
from tests.unit.reports.test_diff import diff
from tests.unit.reports.test_html import moves

REQUEST = move().request
HOUR = 3600
OPEN = Interval(start=STARTS, end=STARTS + 4 * HOUR)
DRAIN = Conditions(
    request=REQUEST,
    window="tonight",
    zone="Europe/Madrid",
    open=OPEN,
    allowed=(Interval(start=STARTS - 2 * HOUR, end=OPEN.end),),
    nodes=("kni-worker6", "kni-worker4"),
    cordon=True,
    done="Uncordoned",
    return_home="Propose",
)
ALWAYS_OPEN = Interval(start=0, end=FOREVER)


def frozen(*names: str) -> Freeze:
    """From an hour after the start until the window closes."""
    vms = frozenset(NamespacedName(namespace="customapp", name=name) for name in names)
    return Freeze(intent=RULE, vms=vms, times=(Interval(start=STARTS + HOUR, end=OPEN.end),))


def said(conditions: Conditions = DRAIN, **more: Any) -> dict[str, str]:
    outlook = PlanConditions(conditions=(conditions,), zone="Europe/Madrid", **more)
    return dict(diff(outlook=outlook).lines)


def test_a_window_is_told_in_its_local_time() -> None:
    assert said()["window"] == (  # these moves begin at the opening, and are not done by then
        "tonight: Fri 2025-12-05 22:00-02:00 Europe/Madrid; "
        "moves may run from Fri 2025-12-05 20:00 on, "
        "but the last is done about 10 min after the start"
    )
    for_ever = replace(DRAIN, open=ALWAYS_OPEN, allowed=(ALWAYS_OPEN,))
    opens = "tonight: open from the merge of its file until "
    assert said(for_ever)["window"] == f"{opens}its nodes are back"
    assert said(replace(for_ever, nodes=()))["window"] == f"{opens}it is removed"
    limited = replace(DRAIN, window="", open=None, nodes=())
    assert said(limited)["time"].startswith("from Fri 2025-12-05 20:00 Europe/Madrid")
    assert "window" not in said(Conditions(request=REQUEST))


@pytest.mark.parametrize(
    ("cordon", "done", "words"),
    [
        (True, "Uncordoned", "a person uncordons it, which says that it is back"),
        (True, "Rebooted", "gitbot uncordons it when it is Ready after a reboot"),
        (True, "Command", "gitbot uncordons it after a person types `gitbot returned kni-worker6`"),
        (False, "Uncordoned", "each is back when it is Ready and uncordoned"),
        (False, "Rebooted", "each is Ready after a reboot, and schedulable"),
        (False, "Command", "each is back when a person types `gitbot returned kni-worker6`"),
    ],
)
def test_who_cordons_and_what_ends_it(cordon: bool, done: str, words: str) -> None:
    text = said(replace(DRAIN, cordon=cordon, done=done))["cordon"]
    assert text.startswith("gitbot cordons kni-worker6, " if cordon else "gitbot cordons nothing: ")
    assert text.endswith(words)


@pytest.mark.parametrize(
    ("return_home", "words"),
    [
        ("Propose", "once the node is back, a pull request of its own brings them back"),
        ("Auto", "once the node is back, gitbot brings them back without another pull request"),
        ("Never", "nothing comes back: the VMs stay where they land (returnHome: Never)"),
    ],
)
def test_homes_and_their_return(return_home: str, words: str) -> None:
    text = said(replace(DRAIN, return_home=return_home))["home"]
    assert text.endswith(words)
    homes = "kni-worker6 (1 VM), kni-worker4 (1 VM)"
    assert text.startswith(homes) is (return_home != "Never")


@pytest.mark.parametrize(
    ("conditions", "binds", "why"),
    [  # the moves take 600 s; the second starts after 300 s; the plan expires after a day
        (DRAIN, OPEN.end - 600, "later, tonight closes before the last move ends"),
        (replace(DRAIN, finish=True), OPEN.end - 300,
         "later, tonight closes before the last move starts"),
        (replace(DRAIN, freezes=(frozen("mssql-c", "mssql-d"),)), STARTS + HOUR - 600,
         "later, tonight closes before the last move ends"),
        (  # the first move alone is frozen: it must end before, the other one has the whole night
            replace(DRAIN, freezes=(frozen("mssql-c"),)),
            STARTS + HOUR - 300,
            "later, tonight closes before the last move ends",
        ),
        (  # the second one alone: it starts 300 s after the first
            replace(DRAIN, freezes=(frozen("mssql-d"),)),
            STARTS + HOUR - 600,
            "later, tonight closes before the last move ends",
        ),
        (replace(DRAIN, freezes=(frozen("somebody-else"),)), OPEN.end - 600,
         "later, tonight closes before the last move ends"),
        (replace(DRAIN, allowed=(ALWAYS_OPEN,)), STARTS + 24 * HOUR, "then this plan expires"),
        (replace(DRAIN, allowed=(Interval(start=0, end=STARTS + 90 * HOUR),)), STARTS + 24 * HOUR,
         "then this plan expires"),
    ],
)  # fmt: skip
def test_the_deadline_that_binds(conditions: Conditions, binds: int, why: str) -> None:
    made = diff(outlook=PlanConditions(conditions=(conditions,)))
    assert (made.deadline.time, made.deadline.why[: len(why)]) == (binds, why)
    assert f": {why}" in dict(made.lines)["approve before"]
    assert f"approve before {local_text(binds, 'UTC')} UTC" in terminal(made)
    assert terminal(made).count("approve before") == 1


def ahead(name: str, *, runs: bool, ours: bool = False, seconds: int = 100) -> QueuedMigration:
    vm = NamespacedName(namespace="app", name=name)
    return QueuedMigration(vm=vm, runs=runs, ours=ours, seconds=seconds)


@pytest.mark.parametrize(
    ("queue", "slots", "words", "later"),
    [
        ((), 4, "empty: no migration runs or waits; ", ""),
        ((ahead("a", runs=True), ahead("b", runs=False)), 4,
         ("2 migrations in front (2 of others: app/a runs, app/b is queued), through in about "
          "1 min 40 s: gitbot's wait for a slot; "), ", up to 40 s later behind the queue"),
        ((ahead("a", runs=True), ahead("b", runs=False)), 1,
         ("2 migrations in front (2 of others: app/a runs, app/b is queued), through in about "
          "3 min 20 s: gitbot's wait for a slot; "), ", up to 2 min 20 s later behind the queue"),
        ((ahead("a", runs=True, ours=True, seconds=60),), 4,
         ("1 migration in front (all gitbot's own: app/a runs), through in about 1 min: "
          "before the first move starts; "), ""),
    ],
)  # the snapshot is a minute older than the first start  # fmt: skip
def test_the_queue_as_it_is_now(
    queue: tuple[QueuedMigration, ...], slots: int, words: str, later: str
) -> None:
    lines = said(ahead=queue, slots=slots)
    no_priority = "gitbot's have no priority: they queue behind evacuations and upgrades"
    assert lines["queue now"] == words + no_priority
    times = "Fri 2025-12-05 22:00-22:10 Europe/Madrid"
    assert f"{times}{later}, at 64 MiB/s a migration" in lines["estimate"]


def test_kinds_that_files_lack_are_named_with_the_command_that_adds_them() -> None:
    assert "not known" not in said(unread=("Service",))
    for kind, plural in (("MigrationPolicy", "migrationpolicies"), ("KubeVirt", "kubevirts")):
        words = said(unread=(kind,))["not known"]
        assert words.startswith(f"the files have no {kind}, so ")
        assert words.endswith(f"`kubectl get {plural} -A -o yaml` adds it")


def test_what_a_plan_without_moves_says_of_its_time() -> None:
    assert diff(PlacementPlan(cluster="iberia")).lines == ()


def test_one_sum_of_memory_for_every_target() -> None:
    eleven = tuple(replace(move(n, name=f"vm-{n}"), memory_bytes=4 * 2**30) for n in range(1, 12))
    text = markdown(diff(replace(PLAN, moves=eleven)))
    assert "**Memory by target**" in text
    assert "| `kni-worker2` | - | 11 VMs, 44 GiB | 0 MiB |" in text
    assert "| `kni-worker6` | 11 VMs" not in text


def test_many_moves_fold_and_keep_picture_and_sums() -> None:
    address = "https://github.example/acme/runs/7#artifacts"
    few = markdown(diff(replace(PLAN, moves=moves(80, 1))))
    assert "Memory by zone" not in few
    made = diff(replace(PLAN, moves=moves(82, 1)), report=address)
    text = markdown(made)
    assert "| `a` | 41 VMs, 656 GiB | - | 0 MiB |\n| `b` | - | 41 VMs, 656 GiB | 0 MiB |" in text
    order = ("Memory by zone", "<summary>Memory by node (82)", "```mermaid", "<summary>41 moves<")
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    assert f" · [complete report]({address})" in text
    manifest = Manifest(kind="X", name="m", namespace="n", object={}, text="y" * 900)
    cut = markdown(replace(made, manifests=(manifest,) * 90), limit=9_000)
    assert "```mermaid" in cut
    assert "more moves left out here" in cut


@pytest.mark.parametrize("address", ["javascript:x", "https://x.example/) evil", "https://x/ y"])
def test_a_strange_address_is_no_link(address: str) -> None:
    assert "complete report]" not in markdown(diff(report=address))


def test_a_change_that_moves_nothing_yet_says_what_it_leads_to() -> None:
    outlook = PlanConditions(conditions=(DRAIN,), zone="Europe/Madrid")
    window = Preview(title="drain of scu-firmware", plan=PLAN, outlook=outlook)
    idle = Preview(title="drain of an empty node", plan=PlacementPlan(cluster="iberia"))
    nothing = PlacementPlan(cluster="iberia")
    made = diff(nothing, previews=(idle, window))
    assert made.happens.startswith("Merging moves nothing yet. Planned as of now, it leads to: ")
    found = dict(made.lines)
    assert found["window"].startswith("tonight: Fri 2025-12-05 22:00-02:00 Europe/Madrid")
    assert found["approve before"].endswith("later, tonight closes before the last move ends")
    assert {"cordon", "home", "estimate", "queue now", "if a move fails"} <= set(found)
    text = markdown(made)
    assert f"{made.happens}." in text
    assert "- **window**: tonight" in text[: text.index("<details>")]
    assert "16 GiB, about 300 s; " in text
    assert " (2 moves, 1 blocked)</summary>" in text
    one = replace(window, plan=replace(PLAN, moves=PLAN.moves[:1]))
    assert " (1 move, 1 blocked)</summary>" in markdown(diff(nothing, previews=(one,)))
    typed = terminal(made)
    assert f"{made.happens}.\nwindow: tonight: Fri 2025-12-05 22:00-02:00 Europe/Madrid" in typed
    for label in ("cordon", "home", "approve before", "estimate", "queue now", "if a move fails"):
        assert f"\n{label}: " in typed
    assert "`" not in typed
    assert typed.count("approve before") == 1, "the plan itself has nothing to approve"
    both = diff(nothing, previews=(window, replace(window, outlook=PlanConditions())))
    assert [label for label, _ in both.lines].count("then") == 2
    assert (
        dict(both.lines[8:])["then"]
        == "Moves customapp/mssql-c, customapp/mssql-d (32 GiB) to sab, scu."
    )
    assert "approve before" not in dict(both.lines[8:])  # no time binds, and nothing expires
    assert diff(nothing, previews=(idle,)).happens == ""
    assert dict(diff(PLAN, previews=(window,)).lines).get("window") is None  # the plan has its own


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (DRAIN, "window tonight acts from Fri 2025-12-05 20:00 Europe/Madrid on"),
        (
            replace(DRAIN, open=ALWAYS_OPEN, allowed=(ALWAYS_OPEN,)),
            "window tonight acts from its merge on",
        ),
        (Conditions(request=REQUEST), "healing of x is proposed after the merge"),
    ],
)
def test_the_verdict_says_what_acts_later_and_when(conditions: Conditions, words: str) -> None:
    nothing = PlacementPlan(cluster="iberia")
    outlook = PlanConditions(conditions=(conditions,))
    later = Preview(title="healing of x", plan=nothing, outlook=outlook)
    made = diff(nothing, previews=(later,))
    assert terminal(made).startswith(f"iberia: nothing moves yet, {words}: 0 moves, ")
    assert f"**nothing moves yet, {words}**" in markdown(made)
    assert diff(nothing, previews=(later, later)).verdict.endswith(f"{words} and 1 more")
    assert diff(nothing).verdict == "nothing to do"
    assert diff(PLAN, previews=(later,)).verdict == diff(PLAN).verdict


def test_a_hold_of_a_preview_is_explained_once() -> None:
    finding = Finding(
        code="plan/no-feasible-node",
        severity=Severity.ERROR,
        message=f"customapp/mssql-a cannot move: {HOLD.reason}",
        file="intents/iberia/w.yaml",
        line=1,
    )
    preview = Preview(title="drain of scu-firmware", plan=PLAN)
    made = diff(PlacementPlan(cluster="iberia"), previews=(preview,), findings=(finding,))
    for text in (markdown(made), terminal(made)):
        assert text.count(HOLD.reason) == 1
        assert "as said above" in text
    assert terminal(diff(PlacementPlan(cluster="iberia"), previews=(preview,))).count(
        HOLD.reason
    ) == 1  # fmt: skip
