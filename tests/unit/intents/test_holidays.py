"""Freezes by calendar file, from file to plan."""

from __future__ import annotations

from gitbot.intents import IntentSet, read_intents
from gitbot.intents.agenda import Agenda
from gitbot.intents.compile import compile_freezes
from gitbot.model.findings import Finding
from gitbot.model.instants import format_instant, parse_instant
from gitbot.settings import ClusterSettings, Settings
from tests.unit.intents.compile_scene import SETTINGS, small_cluster, snapshot_of

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
