"""Freezes by calendar file, from file to plan."""

import pytest

from gitbot.intents import IntentSet, read_intents
from gitbot.intents.calendar_events import Agenda
from gitbot.intents.compile import compile_freezes, opening_of
from gitbot.model.plan.findings import Finding
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.settings import ClusterSettings, Settings
from tests.unit.intents.compile_scene import FILE, SETTINGS, small_cluster, snapshot_of

NOW = parse_instant("2026-12-01T00:00:00Z")
HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: "
FREEZE = f"""{HEAD}FreezeWindow
metadata: {{name: holidays}}
spec: {{calendar: {{path: days.ics}}}}
"""
REQUEST = f"""{HEAD}MigrationRequest
metadata: {{name: away, namespace: a}}
spec:
  vms: {{names: [db-1]}}
  reason: Other
  notBefore: "2026-12-25T08:00Z"
  deadline: "2026-12-25T10:00Z"
"""
DAYS = b"""BEGIN:VCALENDAR
BEGIN:VEVENT
SUMMARY:Christmas
DTSTART;VALUE=DATE:20261225
RRULE:FREQ=YEARLY
END:VEVENT
END:VCALENDAR
"""


def read(
    freeze: str = FREEZE, days: bytes = DAYS, *more: str, settings: Settings = SETTINGS
) -> tuple[IntentSet, list[Finding]]:
    files = {"intents/prod/x.yaml": "---\n".join((freeze, *more)).encode()}
    files["intents/prod/days.ics"] = days
    intents, findings = read_intents(files, settings, "prod")
    return intents, list(findings)


def test_a_calendar_freezes_vms_while_its_events_last() -> None:
    intents, findings = read()
    assert findings == []
    snapshot = snapshot_of(small_cluster())
    (freeze,) = compile_freezes(intents, snapshot, now=NOW, zone="Asia/Tokyo")[0]
    assert len(freeze.vms) == 5
    assert [format_instant(time.start) for time in freeze.times] == [
        "2026-12-24T15:00:00Z",
        "2027-12-24T15:00:00Z",
    ]


def test_the_calendar_shows_each_event_by_its_name() -> None:
    agenda = Agenda(intents=read()[0], zone="Europe/Madrid")
    (event,) = agenda.events(after=NOW, before=NOW + 40 * 86_400)
    assert (event.what, event.id) == ("everywhere: Christmas", "20261224T230000Z")
    assert [each.name for each in agenda.upcoming(now=NOW)] == ["holidays"]


def test_a_request_that_only_a_holiday_would_let_run_can_never_run() -> None:
    (finding,) = read(FREEZE, DAYS, REQUEST)[1]
    assert finding.code == "intents/never-open"
    assert "FreezeWindow holidays covers all its time" in finding.message
    assert read(FREEZE, DAYS.replace(b"1225", b"1224"), REQUEST)[1] == []


def test_a_window_on_holidays_alone_is_wholly_frozen() -> None:
    window = f"""{HEAD}MaintenanceWindow
metadata: {{name: w}}
spec:
  nodes: {{names: [n1]}}
  schedule: {{start: "2026-12-25T22:00", duration: PT2H, recurrence: "FREQ=YEARLY;COUNT=2"}}
"""
    (found,) = read(FREEZE, DAYS, window)[1]
    assert found.code == "intents/wholly-frozen"
    assert "4 h to move, 4 h of it frozen by FreezeWindow holidays" in found.message
    assert read(FREEZE, DAYS, window.replace("25T22", "25T23"))[1] == []


def test_another_day_is_another_spec() -> None:
    digests = {read(days=each)[0].intents[0].spec_digest for each in (DAYS, DAYS + b"\n")}
    assert len(digests) == 2


def test_what_is_wrong_is_said_with_file_and_line() -> None:
    cases = {
        "intents/prod/x.yaml:4 intents/calendar-file did you mean days.ics?": read(
            FREEZE.replace("days.ics", "dais.ics")
        ),
        "intents/prod/days.ics:2 calendar/event correct the event, or remove it": read(
            days=DAYS.replace(b"20261225", b"2026-12-25")
        ),
        "intents/prod/x.yaml:4 calendar/missing-zone give timeZone here, or for the cluster in "
        ".gitbot.yaml": read(settings=Settings(clusters=(ClusterSettings(name="prod"),))),
    }
    for expected, (_, findings) in cases.items():
        found = [f"{each.file}:{each.line} {each.code} {each.hint}" for each in findings]
        assert found == [expected]


WINDOW = f"""{HEAD}MaintenanceWindow
metadata: {{name: weekly}}
spec:
  nodes: {{names: [n1]}}
  schedule:
    start: "2026-12-18T22:00"
    duration: PT4H
    recurrence: FREQ=WEEKLY;COUNT=3
    excludeCalendar: {{path: days.ics}}
"""


def starts(text: str, days: bytes = DAYS, zone: str = "Europe/Madrid") -> list[tuple[str, str]]:
    intents, findings = read(text, days)
    assert findings == []
    found = Agenda(intents=intents, zone=zone).events(after=NOW, before=NOW + 40 * 86_400)
    return [(format_instant(each.time.start)[5:16], each.cancelled) for each in found]


def test_nothing_opens_on_the_days_of_a_calendar_file() -> None:
    assert starts(WINDOW) == [
        ("12-18T21:00", ""),
        ("12-25T21:00", "the day is excluded: Christmas"),
        ("01-01T21:00", ""),
    ]
    touching = DAYS.replace(
        b"DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY",
        b"DTSTART:20261225T225900Z\nDTEND:20261225T231000Z",
    )
    assert [why for _, why in starts(WINDOW, touching)][1] == "the day is excluded: Christmas"
    elsewhere = WINDOW.replace("days.ics}", "days.ics, timeZone: Pacific/Auckland}")
    morning = elsewhere.replace("22:00", "01:00")
    assert [bool(why) for _, why in starts(morning)] == [False, True, False]
    evening = [bool(why) for _, why in starts(elsewhere.replace("22:00", "13:00"))]
    assert evening == [False, True, False], "Auckland's day ends at noon in Madrid, but touches it"


def test_the_drain_that_is_planned_is_not_that_of_a_holiday() -> None:
    intents, _ = read(WINDOW)
    opening = opening_of(intents, "weekly", now=NOW + 20 * 86_400, zone="Europe/Madrid")
    assert opening is not None
    assert opening.id == "20270101T210000Z"


def test_an_edit_of_the_file_is_an_edit_of_the_window() -> None:
    (one,), _ = read(WINDOW)[0].intents, 0
    (other,), _ = read(WINDOW, DAYS.replace(b"Christmas", b"Navidad"))[0].intents, 0
    assert one.spec_digest != other.spec_digest
    assert one.spec_digest == read(WINDOW)[0].intents[0].spec_digest


@pytest.mark.parametrize(
    ("text", "days", "code", "said"),
    [
        (
            WINDOW.replace("days.ics", "day.ics"),
            DAYS,
            "intents/calendar-file",
            'found "day.ics", expected an .ics file below intents/prod/',
        ),
        (WINDOW, b"nothing", "calendar/file", "found what is not a calendar"),
        (
            WINDOW.replace("    recurrence: FREQ=WEEKLY;COUNT=3\n", "").replace("12-18", "12-25"),
            DAYS,
            "calendar/never-occurs",
            "found days that leave no occurrence (2026-12-25: the day is excluded: Christmas)",
        ),
        (
            WINDOW.replace("FREQ=WEEKLY;COUNT=3", "FREQ=YEARLY").replace("12-18", "12-25"),
            DAYS,
            "calendar/never-occurs",
            "found days that leave no occurrence (FREQ=YEARLY never occurs from",
        ),
    ],
)
def test_a_file_that_excludes_wrongly_is_a_finding_at_its_place(
    text: str, days: bytes, code: str, said: str
) -> None:
    _, (finding,) = read(text, days)
    assert finding.code == code
    assert said in finding.message
    assert finding.file == ("intents/prod/days.ics" if code == "calendar/file" else FILE)
