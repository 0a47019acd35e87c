"""Every effect, cut off at every moment, and every way that it may go on: all of them.

An effect is cut off before it is sent, on its way, after its answer, or around any push that
announces or records it. Then the same bot begins again, another one goes on, nobody does until its
window is over, or a person cancels. Which effects there are is read from the code of a pass.
"""

import ast
import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gitbot.ports.cluster import Cluster
from gitbot.ports.forge import Forge
from gitbot.ports.ledger import LedgerStore
from gitbot.ports.repository import Repository
from tests.torture.run import play
from tests.torture.schedule import FAULTS, Bot, Deed, Fault, Schedule

NEVER = 10_000  # seconds: longer than the run
CREATE = Schedule(seed=0, scene="waves", bots=(), uneven=False, takes=10)
DRAIN = replace(CREATE, scene="drain", window=600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One kind of write, of these methods. `pushes`: how many an undisturbed run has at most."""

    call: str
    writes: tuple[str, ...]
    schedule: Schedule
    pushes: int = 6


EFFECTS = (
    Effect(call="create", writes=("create_migration", "append"), schedule=CREATE),
    Effect(call="delete", writes=("delete_migration", "append"),
        schedule=replace(CREATE, takes=25, deeds=(Deed(what="cancel", moment="answered",
            number=1),))),
    Effect(call="cordon", writes=("set_unschedulable", "append"), schedule=DRAIN),
    Effect(call="label", writes=("patch_node_labels", "append"), schedule=DRAIN),
    Effect(call="uncordon", writes=("set_unschedulable", "append"),
        schedule=replace(DRAIN, deeds=(Deed(what="cancel", moment="cordoned", number=1),))),
    Effect(call="anchor", writes=("set_ledger_anchor", "append"),
        schedule=replace(CREATE, anchored=True)),
    Effect(call="report", writes=("set_check", "set_labels", "upsert_issue", "append"),
        schedule=replace(CREATE, reports=True), pushes=2),
)  # fmt: skip
ASKED_AFTER = {"migration": "answer lost", "server time": "lost"}  # what befell a create
MOMENTS = ("before", "on its way", "answered", "half recorded")
NEXT = ("the same bot", "another bot", "its window is over", "a person cancels")
CUTS = {
    "before": ("crash before", "unsent", "error", "pause before"),
    "on its way": ("crash sent", "late", "lost", "error 500", "slow"),
    "answered": ("crash done", "answer lost", "done 500", "pause after"),
}
PUSHES = ("crash before", "crash done", "answer lost", "lost race", "pause before", "pause after")


def cuts(effect: Effect, moment: str) -> list[Fault]:
    if moment == "half recorded":
        numbers = range(1, effect.pushes + 1)
        return [
            Fault(call="push", number=number, how=how, seconds=70)
            for number, how in itertools.product(numbers, PUSHES)
        ]
    return [
        Fault(call=effect.call, number=number, how=how, seconds=seconds)
        for how in CUTS[moment]
        if how in FAULTS[effect.call]
        for number in (1, 2)
        for seconds in ((5, 39, 58) if how in ("crash sent", "late") else (70,))
    ]


def follows(schedule: Schedule, after: str, fault: Fault) -> Schedule:
    one = Bot(runtime=3600, rest=5)
    schedule = replace(schedule, faults=(fault,), bots=(one,))
    match after:
        case "another bot":
            return replace(schedule, bots=(replace(one, rest=NEVER), replace(one, begins=3)))
        case "its window is over":
            return replace(schedule, bots=(replace(one, rest=NEVER),), window=150)
        case "a person cancels":
            when = Deed(what="cancel", moment=fault.call, number=fault.number)
            return replace(schedule, deeds=(*schedule.deeds, when, Deed(what="cancel", at=90)))
        case _:
            return schedule


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: effect.call)
def test_every_effect_cut_off_at_every_moment(effect: Effect) -> None:
    for moment, after in itertools.product(MOMENTS, NEXT):
        for fault in cuts(effect, moment):
            schedule = follows(effect.schedule, after, fault)
            outcome = play(schedule)
            assert outcome.broken == "", schedule
            struck = (fault.call, fault.how) in outcome.hits
            assert struck or fault.number > 1, f"there is no such call: {schedule}"


LOOKS = [
    call for call, hows in FAULTS.items() if "error" in hows and call not in ("push", "report")
]


def read_fails(begin: Schedule, fault: Fault) -> bool:
    """Whether there was such a call."""
    schedule = follows(replace(begin, anchored=True), "the same bot", fault)
    if (how := ASKED_AFTER.get(fault.call)) is not None:
        lost = Fault(call="create", number=1, how=how)
        schedule = replace(schedule, faults=(lost, *schedule.faults))
    outcome = play(schedule)
    assert outcome.broken == "", schedule
    return (fault.call, fault.how) in outcome.hits


@pytest.mark.parametrize("call", LOOKS)
def test_every_read_fails_once(call: str) -> None:
    """The first one, the second one, and so on, until there is no other."""
    for begin in (CREATE, DRAIN):
        fault = Fault(call=call, number=1, how="error", seconds=50)
        while read_fails(begin, fault):
            for how in FAULTS[call]:
                read_fails(begin, replace(fault, how=how))
            fault = replace(fault, number=fault.number + 1)
        assert fault.number > 1


WRITING = {
    *("append", "close", "create", "delete", "edit", "merge"),
    *("open", "patch", "set", "upsert", "write"),
}
HOUSE = Path(__file__).resolve().parents[2]


def imported_by(tree: ast.Module, *, names: set[str] | None = None) -> list[Path]:
    """The modules of workflows that a module, or the face of a room for some names, imports."""
    found: list[Path] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        asked = {alias.name for alias in node.names}
        if not node.module.startswith("gitbot.workflows.") or not (names is None or asked & names):
            continue
        path = HOUSE.joinpath(*node.module.split(".")).with_suffix(".py")
        if path.is_file():
            found.append(path)
        else:
            face = (path.with_suffix("") / "__init__.py").read_text("utf-8")
            found += imported_by(ast.parse(face), names=asked)
    return found


def code_of_a_pass() -> list[ast.Module]:
    """The modules of workflows that `apply` reaches, without what only people call.

    The dashboard is its reporter: callers hand it in, so no import leads there.
    """
    dashboard = HOUSE / "gitbot/workflows/ask/dashboard.py"
    known = {dashboard: ast.parse(dashboard.read_text("utf-8"))}
    left = [HOUSE / "gitbot/workflows/apply/run.py"]
    while left:
        path = left.pop()
        if path not in known:
            known[path] = ast.parse(path.read_text("utf-8"))
            left += imported_by(known[path])
    return list(known.values())


def test_no_write_of_a_pass_is_left_out() -> None:
    ports = {name for port in (Cluster, Forge, LedgerStore, Repository) for name in vars(port)}
    writes = {name for name in ports if name.partition("_")[0] in WRITING}
    assert {"create_migration", "upsert_comment", "write_commit", "delete_branch"} <= writes
    called = {
        node.func.attr
        for tree in code_of_a_pass()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert called & writes == {name for effect in EFFECTS for name in effect.writes}
