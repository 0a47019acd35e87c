"""Windows that are wholly frozen, or open together with another zone's: with the arithmetic."""

import pytest

from gitbot.intents import read_intents, stops
from gitbot.intents.window_conflicts import conflicts
from gitbot.model.plan.findings import Severity
from gitbot.model.text.instants import parse_instant
from gitbot.settings import ClusterSettings, Settings
from tests.unit.intents.compile_scene import FILE, intents_of

ZONE = "topology.kubernetes.io/zone"
ALL = "kind: FreezeWindow\nmetadata: {name: all}\nspec: {}"


def window(name: str, schedule: str, more: str = "", zone: str = "x") -> str:
    when = f"  schedule: {{{schedule}}}\n" if schedule else ""
    return (
        f"kind: MaintenanceWindow\nmetadata: {{name: {name}}}\nspec:\n"
        f"  nodes: {{selector: {{matchLabels: {{{ZONE}: {zone}}}}}}}\n{when}{more}"
    )


def freeze(schedule: str, more: str = "") -> str:
    return f"kind: FreezeWindow\nmetadata: {{name: f}}\nspec:\n  schedule: {{{schedule}}}\n{more}"


def lint(*documents: str, one_zone: bool = False) -> list[str]:
    cluster = ClusterSettings(name="prod", time_zone="Europe/Madrid", one_zone_at_a_time=one_zone)
    text = "\n---\n".join(f"apiVersion: placement.gitbot.dev/v1alpha1\n{d}" for d in documents)
    _, found = read_intents({FILE: text.encode()}, Settings(clusters=(cluster,)), "prod")
    assert not any(map(stops, found)), [str(each) for each in found]
    return [f"{each.severity} {each.code.removeprefix('intents/')} {each}" for each in found]


ONCE = 'start: "2026-12-06T22:00", duration: PT4H'
WEEKLY = f'{ONCE}, recurrence: "FREQ=WEEKLY;COUNT=3"'
DAY = 'start: "2026-12-06T00:00", duration: P1D'
CASES = {
    "no freeze": ((window("w", ONCE),), ""),
    "a freeze of another day": (
        (window("w", ONCE), freeze(DAY.replace("06", "08"))),
        "",
    ),
    "the lead is free, so moves may run": (
        (window("w", ONCE, "  drain: {lead: PT23H}\n"), freeze(DAY.replace("P1D", "P2D"))),
        "",
    ),
    "one opening": (
        (window("w", ONCE), freeze(DAY.replace("P1D", "P2D"))),
        (
            "(Sun 6 Dec 2026 22:00-02:00 Europe/Madrid: 4 h to move, 4 h of it frozen by "
            "FreezeWindow f)"
        ),
    ),
    "all of three": (
        (window("w", WEEKLY, "  drain: {lead: PT2H}\n"), freeze(DAY.replace("P1D", "P30D"))),
        (
            "(3 openings, Sun 6 Dec 2026 22:00-02:00 Europe/Madrid to Sun 20 Dec 2026 22:00-02:00 "
            "Europe/Madrid: 18 h to move with 2 h of lead, 18 h of it frozen by FreezeWindow f)"
        ),
    ),
    "a lead that a plan decides": (
        (
            window("w", ONCE, "  drain: {lead: Auto}\n"),
            freeze(DAY.replace("06", "05").replace("P1D", "P4D")),
        ),
        (
            "(Sun 6 Dec 2026 22:00-02:00 Europe/Madrid: 16 h to move with at most 12 h of lead, "
            "16 h of it frozen by FreezeWindow f)"
        ),
    ),
    "two of three": ((window("w", WEEKLY), freeze(DAY.replace("P1D", "P10D"))), ""),
    "two freezes that touch": (
        (
            window("w", ONCE),
            freeze('start: "2026-12-06T22:00", duration: PT2H'),
            freeze('start: "2026-12-07T00:00", duration: P1D').replace("name: f", "name: g"),
        ),
        "frozen by FreezeWindow f, g)",
    ),
    "for ever": (
        (window("w", ""), ALL),
        "(open from its merge on, FreezeWindow all without an end)",
    ),
    "one namespace only": (
        (window("w", ONCE), freeze(DAY.replace("P1D", "P2D"), "  namespaces: [a]\n")),
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_window_without_a_minute_is_said_with_the_arithmetic(case: str) -> None:
    documents, expected = CASES[case]
    found = [each for each in lint(*documents) if "wholly-frozen" in each]
    assert bool(found) == bool(expected), found
    if expected:
        assert expected in found[0]
        assert found[0].startswith("warning wholly-frozen")


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("2026-12-07T03:00", ""),
        (
            "2026-12-06T23:00",
            (
                "found Sun 6 Dec 2026 22:00-02:00 Europe/Madrid in zone x together with b in zone "
                "y (Sun 6 Dec 2026 22:00-03:00 Europe/Madrid) for 4 h, 3 times in 400 days, "
                "expected one"
            ),
        ),
    ],
)
def test_two_zones_are_not_open_together(start: str, said: str) -> None:
    other = f'start: "{start}", duration: PT4H, recurrence: "FREQ=WEEKLY;COUNT=5"'
    pair = (window("b", other, "  drain: {lead: PT1H}\n", zone="y"), window("w", WEEKLY))
    assert lint(*pair) == []
    found = lint(*pair, one_zone=True)
    assert len(found) == bool(said)
    assert not said or (found[0].startswith("error two-zones") and said in found[0])
    same = (pair[0].replace(f"{ZONE}: y", f"{ZONE}: x"), pair[1])
    assert lint(*same, one_zone=True) == []


def test_with_a_clock_the_year_ahead_counts_and_a_pair_that_stood_is_a_warning() -> None:
    daily = f'{ONCE}, recurrence: "FREQ=DAILY"'
    only_2028 = freeze('start: "2028-01-01T00:00", duration: P800D')
    intents = intents_of(window("w", daily), only_2028, window("z", daily, zone="y")).intents
    for day, codes in (("2026-01-01", ["two-zones"]), ("2028-02-01", ["wholly-frozen"] * 2)):
        now = parse_instant(f"{day}T00:00:00Z")
        found = conflicts(intents, "Europe/Madrid", one_zone=day < "2027", now=now)
        assert [each.code.removeprefix("intents/") for each in found] == codes
    for changed, severity in (((), "warning"), (("MaintenanceWindow/w",), "error")):
        (found_one,) = conflicts(intents, "UTC", one_zone=True, changed=changed)
        assert found_one.severity == Severity(severity)


def test_nodes_that_are_away_for_longer_than_the_window() -> None:
    text = (
        "kind: MaintenanceWindow\nmetadata: {name: w}\nspec:\n"
        '  nodes: {names: [a, b, c]}\n  schedule: {start: "2026-12-06T22:00", duration: PT1H}\n'
        "  drain: {reboot: PT30M, maxNodesAtOnce: N}\n"
    )
    (found,) = lint(text.replace("N}", "1}"))
    assert found.startswith("warning window-too-short")
    assert "expected more than 1 h: 3 nodes, 1 at once, 30 min away each" in found
    assert lint(text.replace("N}", "2}")) == []
