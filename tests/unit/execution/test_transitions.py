"""The table of a move's states: in the page, in the code, and kept by whatever is written."""

from pathlib import Path

import pytest

from gitbot.errors import Bug
from gitbot.execution.transitions import ROWS, TRANSITIONS, check_transitions
from gitbot.model.ledger.events import FINAL_STATES, MoveApproved, MoveChanged, MoveState, PlanShown
from gitbot.model.ledger.ledger import Ledger
from gitbot.published.ledger_lines import chain
from gitbot.workflows.apply import apply
from tests.doubles.ledger import moves_of
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "ledger.md"
BEGIN, END = "<!-- transitions -->\n", "<!-- /transitions -->\n"


def as_table() -> str:
    lines = ["| from | to | because |", "|---|---|---|"]
    for froms, to, why in ROWS:
        before = ", ".join(f"`{state}`" for state in froms) or "nothing"
        lines.append(f"| {before} | `{to}` | {why} |")
    return "\n".join(lines) + "\n"


def test_the_page_has_the_table() -> None:
    text = PAGE.read_text("utf-8")
    assert text[text.index(BEGIN) + len(BEGIN) : text.index(END)] == as_table()


def test_each_change_has_one_cause() -> None:
    assert len(TRANSITIONS) == sum(max(1, len(froms)) for froms, _, _ in ROWS)
    assert all(TRANSITIONS.values())


def test_only_a_failure_goes_on() -> None:
    ended = {before for before, _ in TRANSITIONS if before in FINAL_STATES}
    assert ended == {MoveState.FAILED}


def a_finished_stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell)
    return stage


@pytest.mark.parametrize("state", [MoveState.INTENDED, MoveState.RUNNING, MoveState.WITHDRAWN])
def test_what_is_over_does_not_change(state: MoveState) -> None:
    ledger = a_finished_stage().store.read()
    last = moves_of(ledger, "requests/prod/request/db/one.jsonl")[-1]
    assert last.state is MoveState.SUCCEEDED
    with pytest.raises(Bug, match=f"BUG: move 1 of .* from succeeded to {state}, and it is over"):
        check_transitions(ledger, (last.replace(state=state),))


def test_what_no_row_has_is_not_written() -> None:
    known = moves_of(a_finished_stage().store.read(), "requests/prod/request/db/one.jsonl")
    created = next(event for event in known if event.state is MoveState.CREATED)
    with pytest.raises(Bug, match="BUG: move 1 of request/db/one would go from nothing to created"):
        check_transitions(Ledger(), (created,))


def a_stage_with(state: MoveState, *, after_the_end: bool) -> Stage:
    """Somebody wrote a line into the ledger, and made its chain fit; the VM is where it was."""
    finished = a_finished_stage().store.read()
    known = [event for event in finished.events if isinstance(event, PlanShown | MoveApproved)]
    last = finished.events[-1]
    assert isinstance(last, MoveChanged)
    line = last.replace(state=state, migration="", migration_uid="", outcome="", reason="")
    events = (*known, *([last] if after_the_end else []), line)
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.store.ledger = finished.replace(events=chain(None, events), head="f" * 40)
    return stage


@pytest.mark.parametrize("state", [MoveState.PLANNED, MoveState.OBSERVED])
def test_a_ledger_with_a_state_that_gitbot_never_writes_is_a_bug_and_starts_nothing(
    state: MoveState,
) -> None:
    stage = a_stage_with(state, after_the_end=False)
    before = stage.store.read()
    with pytest.raises(Bug, match=f"BUG: move 1 of request/db/one would go from {state} to inten"):
        apply(stage.shell)
    assert (stage.cluster.calls, stage.store.read()) == ([], before)


@pytest.mark.parametrize("state", list(MoveState))
def test_no_line_that_somebody_writes_after_an_end_undoes_it(state: MoveState) -> None:
    stage = a_stage_with(state, after_the_end=True)
    before = stage.store.read()
    apply(stage.shell)
    assert (stage.cluster.calls, stage.store.read()) == ([], before)
