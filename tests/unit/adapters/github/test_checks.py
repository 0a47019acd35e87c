"""A check run or status of somebody else is never taken for gitbot's own, whatever its name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.ports.forge import CheckRun, CheckState, CommitStatus
from tests.doubles.github import state
from tests.unit.adapters.github.test_faults import NAME, Day, begun, head

PLAN = "gitbot/plan"


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    with begun(tmp_path) as made:
        yield made


def forge_check(day: Day, *, status: str, conclusion: str | None, external_id: str = "") -> None:
    """Another App, with Checks: write, writes a run of that name."""
    rights = {"checks": "write"}
    eve = day.service.add_app("eve", public_key="", permissions=rights, repository=NAME)
    number = day.service.new_id()
    day.stored.check_runs[number] = state.CheckRun(
        id=number,
        name=PLAN,
        head_sha=head(day),
        app_id=eve.id,
        status=status,
        conclusion=conclusion,
        external_id=external_id,
        started_at=day.clock.now(),
        output={"title": "all is well", "summary": "all is well"},
    )


def own(day: Day) -> list[str]:
    runs = day.service.repository(NAME).check_runs.values()
    return [run.output["title"] for run in runs if run.app_id == state.ACTIONS_APP_ID]


@pytest.mark.parametrize(
    ("status", "conclusion"), [("completed", "success"), ("in_progress", None)]
)
def test_a_foreign_run_is_neither_believed_nor_changed(
    day: Day, status: str, conclusion: str | None
) -> None:
    check = CheckRun(name=PLAN, state=CheckState.FAILURE, title="3 moves, denied")
    forge_check(day, status=status, conclusion=conclusion)
    assert day.forge.list_statuses(head(day)) == ()
    assert day.forge.list_checks(head(day)) == ()
    assert day.forge.set_check(head(day), check)
    assert own(day) == [check.title]
    forge_check(day, status=status, conclusion=conclusion)  # and once more, newer than ours
    (found,) = day.forge.list_statuses(head(day))
    assert (found.state, found.description) == (CheckState.FAILURE, check.title)


def test_who_copies_the_identity_of_a_run_does_not_keep_it_from_being_written(day: Day) -> None:
    check = CheckRun(name=PLAN, state=CheckState.FAILURE, title="denied")
    assert day.forge.set_check(head(day), check)
    (ours,) = day.stored.check_runs.values()
    identity = ours.external_id
    day.stored.check_runs.clear()
    day.forge._checks._written.clear()
    forge_check(day, status="completed", conclusion="success", external_id=identity)
    assert day.forge.set_check(head(day), check)
    assert own(day) == [check.title]


def test_a_status_of_somebody_else_is_neither_believed_nor_counted(day: Day) -> None:
    """As that of `gitbot/ledger`, which would hide that the ledger went back."""
    day.stored.statuses.append(
        state.Status(
            id=day.service.new_id(),
            sha=head(day),
            context="gitbot/ledger",
            state="success",
            description="no line",
            creator="ann",
            updated_at=day.clock.now(),
        )
    )
    assert day.forge.list_statuses(head(day)) == ()
    status = CommitStatus(context="gitbot/ledger", state=CheckState.SUCCESS, description="no line")
    day.forge.set_status(head(day), status)
    assert len(day.stored.statuses) == 2
    (found,) = day.forge.list_statuses(head(day))
    assert found.description == "no line"
