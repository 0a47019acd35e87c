"""Which notices a webhook gets, and in which hours."""

from datetime import datetime

import pytest

from gitbot.settings import NoticeSettings
from gitbot.settings.notices import OTHERS, NoticeHours

NIGHT = {"start": "18:00", "end": "08:00", "days": ["MO", "SU"]}


@pytest.mark.parametrize(
    ("local", "inside"),
    [
        ("2026-11-30T18:00", True),  # a Monday
        ("2026-11-30T17:59", False),
        ("2026-12-01T07:59", True),  # began on Monday
        ("2026-12-01T08:00", False),
        ("2026-12-01T20:00", False),  # begins on Tuesday
        ("2026-11-30T03:00", True),  # began on Sunday
        ("2026-11-29T03:00", False),  # began on Saturday
    ],
)
def test_hours_that_end_on_the_next_day_belong_to_the_day_on_which_they_start(
    local: str, inside: bool
) -> None:
    hours = NoticeHours.model_validate(NIGHT)
    assert hours.contain(datetime.fromisoformat(local)) is inside


def test_hours_within_a_day_do_not_contain_their_end() -> None:
    hours = NoticeHours(start="09:00", end="17:00")
    found = [hours.contain(datetime.fromisoformat(f"2026-11-30T{at}")) for at in ("09:00", "17:00")]
    assert found == [True, False]


def test_hours_that_end_when_they_start_are_the_whole_day() -> None:
    hours = NoticeHours(start="08:00", end="08:00")
    found = [hours.contain(datetime.fromisoformat(f"2026-11-30T{at}")) for at in ("07:59", "08:00")]
    assert found == [True, True]


def test_who_chose_no_events_gets_the_others_once_a_day() -> None:
    assert NoticeSettings(name="all").told_daily == OTHERS
    assert NoticeSettings(name="some", events=("Failed",)).told_daily == ()
    chosen = NoticeSettings(name="both", events=("Failed",), daily=("Failed", "Moved"))
    assert chosen.told_daily == ("Moved",)


def test_severity_namespace_and_owners_all_have_to_fit() -> None:
    hook = NoticeSettings(
        name="dba", severity="Warning", namespaces=("db-*",), owners=("@acme/dba",)
    )
    assert hook.concerns("Error", "db-1", ("@acme/dba", "@acme/sre"))
    assert not hook.concerns("Info", "db-1", ("@acme/dba",))
    assert not hook.concerns("Error", "web", ("@acme/dba",))
    assert not hook.concerns("Error", "db-1", ("@acme/sre",))
    assert hook.concerns("Warning", "", ())
