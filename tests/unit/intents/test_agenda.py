"""What windows, freezes and requests say about a span of time."""

from gitbot.calendar import Appointment, appointment_words
from gitbot.intents.calendar_events import Agenda
from gitbot.kubernetes.selectors import LabelMatcher, Scope
from gitbot.model.text.instants import parse_instant
from tests.unit.intents.compile_scene import intents_of

AFTER, BEFORE = parse_instant("2026-12-01T00:00:00Z"), parse_instant("2027-01-31T00:00:00Z")
WINDOW = """
kind: MaintenanceWindow
metadata: {name: firmware}
spec:
  nodes: {names: [n1, n2]}
  schedule: {start: "2026-12-06T22:00", duration: PT4H, recurrence: "FREQ=MONTHLY;BYDAY=1SU",
    exclude: ["2027-01-03"]}
  drain: {lead: PT2H}
"""
CHANGE = """
kind: MaintenanceWindow
metadata: {name: change}
spec: {schedule: {start: "2026-12-08T01:00", timeZone: Asia/Kolkata, duration: PT1H}}
"""
YEAR_END = """
kind: FreezeWindow
metadata: {name: year-end}
spec: {schedule: {start: "2026-12-07T00:00", duration: P30D}, reason: year end}
"""
PAYROLL = """
kind: FreezeWindow
metadata: {name: payroll}
spec: {namespaces: [b], schedule: {start: "2026-12-01T12:00", duration: P1D}}
"""
LABELLED = """
kind: FreezeWindow
metadata: {name: labelled}
spec: {selector: {matchLabels: {tier: db}}}
"""
REQUEST = """
kind: MigrationRequest
metadata: {name: away, namespace: a}
spec: {vms: {names: [db-1]}, reason: Other, window: change, deadline: "2027-01-01T00:00Z"}
"""
FREE = """
kind: MigrationRequest
metadata: {name: free, namespace: b}
spec: {vms: {names: [other]}, reason: Other}
"""


def events(
    *documents: str,
    namespace: str = "",
    labels: LabelMatcher | None = None,
    cancelled: tuple[str, ...] = (),
    finished: tuple[str, ...] = (),
) -> list[str]:
    agenda = Agenda(
        intents=intents_of(*documents),
        zone="Europe/Madrid",
        announce=3 * 86_400,
        scope=Scope(namespace=namespace, labels=labels),
        cancelled=cancelled,
        finished=finished,
    )
    return [said(event) for event in agenda.events(after=AFTER, before=BEFORE)]


def said(event: Appointment) -> str:
    return f"{event.kind} {event.name}: {appointment_words(event, now=AFTER)}"


FIRST = (
    "window firmware: Sun 6 Dec 22:00-02:00 Europe/Madrid, in 5 days; 2 nodes; "
    "moves from Sun 6 Dec 20:00; proposal opens Thu 3 Dec"
)
EXCLUDED = (
    "window firmware: Sun 3 Jan 2027 22:00-02:00 Europe/Madrid, in 33 days; "
    "cancelled: the day is excluded; 2 nodes"
)


def test_a_window_with_its_excluded_day() -> None:
    assert events(WINDOW) == [FIRST, EXCLUDED]


def test_a_drain_that_a_person_cancelled() -> None:
    shown = events(WINDOW, cancelled=("drain/firmware/20261206T210000Z",))
    assert "; cancelled: by a person; " in shown[0]
    assert shown[1] == EXCLUDED


def test_what_freezes_a_window_wholly_and_partly() -> None:
    found = events(WINDOW, CHANGE, YEAR_END, PAYROLL, LABELLED)
    assert found[0] == "freeze labelled: always; some VMs everywhere"
    assert found[1].endswith("in 11 h; in b")
    assert found[2] == FIRST.replace("2 nodes;", "2 nodes; partly frozen by year-end;")
    assert found[3].startswith("freeze year-end: Mon 7 Dec 00:00 - ")
    assert found[3].endswith("everywhere: year end")
    assert found[4] == (
        "window change: Tue 8 Dec 01:00-02:00 Asia/Kolkata, in 6 days; change window; "
        "wholly frozen by year-end"
    )


def test_a_request_runs_in_its_window_and_shows_the_freezes_of_its_namespace() -> None:
    found = events(CHANGE, REQUEST, FREE, PAYROLL)
    assert "request b/free: always; partly frozen by payroll" in found
    assert (
        "request a/away: Tue 8 Dec 01:00-02:00 Asia/Kolkata, in 6 days; in window change" in found
    )


def test_a_namespace_leaves_out_the_requests_and_freezes_of_others() -> None:
    assert [
        line.split(":")[0] for line in events(CHANGE, REQUEST, FREE, PAYROLL, namespace="a")
    ] == [
        "request a/away",
        "window change",
    ]


def test_the_next_of_each_intent_may_be_beyond_what_is_shown() -> None:
    far = WINDOW.replace("2026-12-06T22:00", "2027-06-06T22:00").replace("2027-01-03", "2027-07-04")
    agenda = Agenda(intents=intents_of(far, REQUEST, CHANGE), zone="Europe/Madrid")
    names = [event.name for event in agenda.upcoming(now=AFTER)]
    assert names == ["a/away", "change", "firmware"]
    assert agenda.upcoming(now=BEFORE)[0].name == "firmware"


def test_a_finished_request_never_runs_again() -> None:
    assert events(FREE, finished=("request/b/free",)) == []


def test_labels_choose_intents() -> None:
    labelled = FREE.replace("{name: free,", "{name: free, labels: {team: db},")
    team = LabelMatcher.of({"matchLabels": {"team": "db"}})
    assert [line.split(":")[0] for line in events(labelled, WINDOW, labels=team)] == [
        "request b/free"
    ]


def test_the_next_opening_follows_one_that_a_person_cancelled() -> None:
    agenda = Agenda(
        intents=intents_of(WINDOW),
        zone="Europe/Madrid",
        cancelled=("drain/firmware/20261206T210000Z",),
    )
    shown = [said(event) for event in agenda.upcoming(now=AFTER)]
    assert [line.partition(";")[0] for line in shown] == [
        FIRST.partition(";")[0],
        "window firmware: Sun 7 Feb 2027 22:00-02:00 Europe/Madrid, in 68 days",
    ]
    assert ["; cancelled: by a person; " in line for line in shown] == [True, False]
