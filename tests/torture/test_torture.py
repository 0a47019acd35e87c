"""Thousands of schedules hold, and what schedules once found stays mended."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gitbot.workflows.apply import run as apply_run
from tests.torture.apart import searched
from tests.torture.loop import Loop
from tests.torture.run import REPORT, play
from tests.torture.schedule import MOMENTS, Bot, Deed, Fault, Schedule, schedule_of
from tests.torture.world import World

ROOT = Path(__file__).resolve().parents[2]
ONE_BOT = (Bot(runtime=3600, rest=30),)
TWO_BOTS = (*ONE_BOT, Bot(begins=7, runtime=3600, rest=30))


def a_schedule(scene: str, *, bots: tuple[Bot, ...] = ONE_BOT, **more: object) -> Schedule:
    return Schedule(seed=0, scene=scene, bots=bots, uneven=False, **more)  # type: ignore[arg-type]


FOUND = {
    "stored otherwise, and the race to record it is lost: not created again": a_schedule(
        "one",
        faults=(Fault(call="create", number=1, how="stored otherwise"),),
        deeds=(Deed(what="hold", moment="migrations", number=2),),
    ),
    "stored otherwise, and killed before it is recorded: not created again": a_schedule(
        "one",
        bots=TWO_BOTS,
        faults=(
            Fault(call="create", number=1, how="stored otherwise"),
            Fault(call="delete", number=1, how="crash done"),
        ),
    ),
    "cancelled, and its request as late as a claim allows: it is not over before": a_schedule(
        "one",
        bots=TWO_BOTS,
        deeds=(Deed(what="cancel", at=20),),
        faults=(
            Fault(call="instance", number=1, how="pause before", seconds=54),
            Fault(call="create", number=1, how="crash sent", seconds=59),
        ),
    ),
    "accepted, not begun, and its approval counts no more: it expires": a_schedule(
        "one",
        deeds=(
            Deed(what="hold by hand", moment="ledger", number=1),
            Deed(what="require reviews", at=60),
        ),
    ),
    "a cordon arrives late, after a person undid another one: it is taken back": a_schedule(
        "drain",
        bots=(Bot(runtime=3600, rest=5),),
        faults=(Fault(call="cordon", number=1, how="late", seconds=39),),
        deeds=(Deed(what="uncordon", moment="migrations", number=1),),
    ),
    "a node is gone while its drain may finish late: what is left of it ends": a_schedule(
        "drain",
        finish=True,
        deeds=(Deed(what="remove node", moment="stored", number=1),),
    ),
    "a person undid the cordon, another executor has seen it: not cordoned again": a_schedule(
        "drain and one",
        bots=TWO_BOTS,
        faults=(
            Fault(call="pull", number=3, how="pause after", seconds=100),
            Fault(call="pull", number=4, how="slow", seconds=58),
        ),
        deeds=(Deed(what="stick", who="2", at=0), Deed(what="uncordon", at=63)),
    ),
    "the last look at a VM answers late, and the VM restarts on the way": a_schedule(
        "two",
        faults=(Fault(call="instance", number=1, how="slow", seconds=50),),
        deeds=(Deed(what="restart", at=40),),
    ),
    "a base that was rewritten has merges since: people accept it, and everything ends": a_schedule(
        "two",
        deeds=(Deed(what="rewrite base", at=0), *(Deed(what="merge", at=at) for at in (97, 167))),
    ),
    "accepted while its window was closed; it starts after people opened it again": replace(
        a_schedule(
            "waves",
            bots=(Bot(rest=30), Bot(clock=-28, rest=30)),
            deeds=(
                Deed(what="close window", who="2", at=0),
                Deed(what="restore intent", who="2", at=2),
            ),
        ),
        seed=1518784,
        uneven=True,
    ),
    "it moves again while its old launcher pod lingers: the second migration waits": a_schedule(
        "again",
        bots=TWO_BOTS,
        lingers=150,
        deeds=(Deed(what="merge", at=20),),
    ),
    "its migration is deleted, and its target pod tells later that it was there": a_schedule(
        "one",
        bots=TWO_BOTS,
        lingers=400,
        faults=(Fault(call="create", number=1, how="answer lost"),),
        deeds=(Deed(what="stick", at=0), Deed(what="delete migration", at=30)),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    assert play(FOUND[name]).broken == ""


NEEDS = {
    "uncordon": a_schedule("drain", deeds=(Deed(what="cancel", moment="cordoned", number=1),)),
    **dict.fromkeys(
        ("delete", "deleted"),
        a_schedule("one", takes=25, deeds=(Deed(what="cancel", moment="answered", number=1),)),
    ),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_deeds_happen_at_each_of_their_moments(moment: str) -> None:
    schedule = NEEDS.get(moment, a_schedule("drain"))
    deed = Deed(what="reboot", moment=moment, number=1)
    outcome = play(replace(schedule, deeds=(*schedule.deeds, deed)))
    assert any(what == "deed reboot" for what, _ in outcome.hits)


def test_old_pod_of_a_moved_vm_terminates_slowly_and_holds_up_its_next_migration() -> None:
    world = World(loop=Loop(), takes=10, lingers=100)
    for node in ("a", "c", "d"):
        world.add_node(node)
    world.add_instance("one", "a")

    def ask(name: str) -> None:
        wanted = {"metadata": {"name": name}, "spec": {"vmiName": "one"}}
        world.create(wanted, "bot", otherwise=False)

    def at(seconds: int) -> tuple[list[str], list[str]]:
        """Phases of migrations, and nodes of pods; `-` before those that terminate."""
        world.loop.run(seconds * 1000)
        pods = [
            f"{'-' if 'deletionTimestamp' in pod['metadata'] else ''}{pod['spec']['nodeName']}"
            for pod in world.look().pods
        ]
        return [item["status"]["phase"] for item in world.look().migrations], pods

    ask("first")
    assert at(5) == (["Running"], ["c", "a"])
    assert at(15) == (["Succeeded"], ["c", "a"])
    ask("second")
    assert at(40) == (["Succeeded", "Pending"], ["c", "a"])
    assert at(70) == (["Succeeded", "Pending"], ["c", "-a"])
    assert at(150) == (["Succeeded", "Succeeded"], ["c", "a"])


IDLE = {
    "a lie that is the truth": a_schedule(
        "one", faults=(Fault(call="snapshot", number=1, how="old"),)
    ),
    "an answer that is lost, of a request that is refused before": a_schedule(
        "one", bots=(Bot(clock=45),), faults=(Fault(call="create", number=1, how="answer lost"),)
    ),
    "a node that is uncordoned already": a_schedule("one", deeds=(Deed(what="uncordon", at=1),)),
    "a command that is refused": a_schedule("one", deeds=(Deed(what="returned", at=1),)),
}


@pytest.mark.parametrize("name", IDLE)
def test_what_did_not_happen_is_not_counted(name: str) -> None:
    assert play(IDLE[name]).hits == set()


def test_one_seed_is_one_run() -> None:
    for seed in range(40):
        first = play(schedule_of(seed), trace=True)
        assert play(schedule_of(seed), trace=True) == first
        assert first.broken == ""


def test_a_run_leaves_the_reports_of_other_tests_alone() -> None:
    assert not schedule_of(0).reports
    play(schedule_of(0))
    assert apply_run.report is REPORT


@pytest.mark.timeout(600)
def test_two_thousand_schedules() -> None:
    # the first 2,000 hold too, but leave two cells of the table empty
    said = searched("tests.torture", "--seeds", "2000", "--jobs", "2", "--start", "2000")
    assert re.search(r"2000 runs, \d{4} migrations created, 0 broken, 0 empty cells", said), said


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_more_schedules() -> None:
    """Those after the two thousand. `make torture` and the nightly workflow play more of them."""
    said = searched("tests.torture", "--seeds", "12000", "--jobs", "2", "--start", "4000")
    assert re.search(r"12000 runs, \d+ migrations created, 0 broken, 0 empty cells", said), said


def test_schedules_on_a_followed_cluster_hold() -> None:
    """Each kind of a look is as it was at some moment of the last 90 seconds."""
    for seed in range(150):
        played = play(replace(schedule_of(seed), followed=True))
        assert not played.broken, (seed, played.broken)


@pytest.mark.parametrize("seed", [23, 34])
def test_conclusions_that_are_not_read_again_are_found(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_run, "events_as_shown", lambda *_: True)
    assert play(replace(schedule_of(seed), followed=True)).broken
