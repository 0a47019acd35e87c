"""Windows that their own drains and requests do not fit, with the arithmetic."""

from collections.abc import Mapping

import pytest

from gitbot.model.plan.findings import Finding, Severity
from gitbot.snapshot import from_objects
from gitbot.workflows.check import PlanningInputs, check
from gitbot.workflows.core.revision import Revision, Texts, read_change, read_revision
from tests.doubles.problems import NOW, node, vm
from tests.unit.workflows.test_check import CONFIGURATION, HEAD, SHIPPED

CODES = (
    "intents/window-too-short",
    "intents/starved",
    "intents/two-zones",
    "intents/wholly-frozen",
)
OBJECTS = [
    node("n1", zone="a"),
    node("n2", zone="b"),
    node("n3", zone="b"),
    vm("big", on="n1", memory="60Gi"),  # 980 s at 64 MiB/s
    vm("two", on="n1", memory="60Gi"),
    vm("three", on="n1", memory="60Gi"),
    vm("small", on="n2", memory="4Gi"),  # 84 s
    vm("stays", on="n2", memory="100Gi", migratable=False),
]


def window(duration: str, more: str = "", nodes: str = "[n1, n2]") -> str:
    return (
        f"{HEAD}kind: MaintenanceWindow\nmetadata: {{name: w}}\n"
        f"spec:\n  nodes: {{names: {nodes}}}\n"
        f'  schedule: {{start: "2026-12-07T22:00", duration: {duration}}}\n'
        f"  drain: {{cordon: Gitbot, notMigratable: LeaveRunning{more}}}\n"
    )


REQUEST = f"""{HEAD}kind: MigrationRequest
metadata: {{name: r, namespace: default}}
spec:
  vms: {{names: [big, two]}}
  reason: Other
  window: w
  deadline: "2026-12-07T22:20+01:00"
"""


def revision(
    files: Mapping[str, str], *, before: Revision | None = None, config: str = CONFIGURATION
) -> Revision:
    texts = {".gitbot.yaml": config.encode()}
    texts |= {f"intents/iberia/{name}.yaml": text.encode() for name, text in files.items()}
    read = read_revision(Texts(files=texts, commit=""), cluster="iberia", shipped=SHIPPED)
    assert isinstance(read, Revision), read
    return read if before is None else read_change(Texts(files=texts, commit=""), before)


def found(here: Revision, before: Revision | None = None) -> list[Finding]:
    flat = [obj for item in OBJECTS for obj in (item if isinstance(item, tuple) else (item,))]
    evidence = PlanningInputs(snapshot=from_objects("iberia", flat, NOW), now=NOW)
    result = check(here, evidence, before=before.intents if before is not None else None)
    return [each for each in result.findings if each.code in CODES]


@pytest.mark.parametrize(
    ("text", "severity", "said"),
    [
        (window("PT1H"), "", ""),
        (
            window("PT20M"),
            "error",
            (
                "found a window of 20 min, expected time for a drain of n1 in 24 min 30 s (3 VMs, "
                "49 min in all, 2 at once, the longest 16 min 20 s), at 64 MiB/s a migration"
            ),
        ),
        (window("PT20M", ", lead: PT10M"), "", ""),
        (
            window("PT20M", ", lead: PT5M"),
            "warning",
            (
                "found a window of 25 min (20 min, and 5 min of lead), expected time for 25 min "
                "54 s for 2 nodes, 1 at once (n1 24 min 30 s, n2 1 min 24 s)"
            ),
        ),
        (window("PT30M", ", reboot: PT10M"), "warning", "1 at once, 10 min away each"),
        (window("PT30M", ", reboot: PT10M, maxNodesAtOnce: 2"), "", ""),
    ],
)
def test_a_window_is_measured_against_its_nodes(text: str, severity: str, said: str) -> None:
    short = [each for each in found(revision({"w": text})) if each.code == CODES[0]]
    assert [str(each.severity) for each in short] == ([severity] if severity else [])
    assert all(said in each.message and each.key_path.endswith("duration") for each in short)


def test_a_request_starves_before_its_deadline() -> None:
    shorter = REQUEST.replace("22:20", "22:10")
    (starved,) = (
        each for each in found(revision({"w": window("PT2H", nodes="[n3]"), "r": shorter}))
    )
    assert (starved.code, str(starved.severity)) == ("intents/starved", "error")
    assert starved.message == (
        "found 10 min to run (window w is open for 10 min before 2026-12-07T21:10:00Z), expected "
        "at least 16 min 20 s (2 VMs, 32 min 40 s in all, 4 at once, the longest 16 min 20 s), "
        "at 64 MiB/s a migration"
    )
    assert found(revision({"w": window("PT2H", nodes="[n3]"), "r": REQUEST})) == []


def test_a_freeze_in_the_middle_leaves_pieces_that_are_too_short() -> None:
    freeze = (
        f"{HEAD}kind: FreezeWindow\nmetadata: {{name: f}}\nspec:\n  selector: {{matchExpressions: "
        "[{key: nobody, operator: DoesNotExist}]}\n"
        '  schedule: {start: "2026-12-07T22:10", duration: PT1M}\n'
    )
    files = {"w": window("PT2H", nodes="[n3]"), "r": REQUEST}
    (starved,) = found(revision({"f": freeze, **files}))
    assert starved.message.startswith(
        "found 19 min to run in 2 pieces (window w is open for 20 min before "
        "2026-12-07T21:20:00Z, 1 min of it frozen), expected at least 16 min 20 s"
    )
    base = revision(files)
    assert [
        str(each.severity) for each in found(revision({"f": freeze, **files}, before=base), base)
    ] == ["error"]


def test_a_pull_request_answers_for_what_it_changes() -> None:
    later = REQUEST.replace("22:20", "22:30")
    base = revision({"w": window("PT2H", nodes="[n3]"), "r": later})
    shorter = {"w": window("PT10M", nodes="[n3]"), "r": later}
    (starved,) = found(revision(shorter, before=base), base)
    assert (starved.code, starved.severity) == ("intents/starved", Severity.ERROR)
    assert starved.file == "intents/iberia/r.yaml"
    short = revision({"w": window("PT20M")})
    beside = window("PT1H", nodes="[n3]").replace("name: w", "name: v")
    (stood,) = found(revision({"w": window("PT20M"), "v": beside}, before=short), short)
    assert (stood.code, stood.severity) == ("intents/window-too-short", Severity.WARNING)


def test_zones_are_those_of_the_nodes() -> None:
    config = CONFIGURATION.replace("timeZone: Europe/Madrid", "oneZoneAtATime: true")
    config = config.replace("  manifests", "    timeZone: Europe/Madrid\n  manifests")
    other = window("PT3H", nodes="[n3]").replace("name: w", "name: v")
    files = {"w": window("PT3H", nodes="[n1]"), "v": other}
    (together,) = found(revision(files, config=config))
    assert "in zone a together with v in zone b" in together.message
    assert found(revision(files)) == []
