"""Files to intents: values, identities, digests, and what stands where."""

from collections.abc import Mapping

import pytest

from gitbot.intents import IntentSet, read_intents
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.kinds.zone_anti_affinity.spec import ZoneAntiAffinitySpec
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.problem import Pin
from gitbot.settings import ClusterSettings, Settings

HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
SETTINGS = Settings(clusters=(ClusterSettings(name="prod", time_zone="Europe/Madrid"),))


def request(spec: str, name: str = "move", namespace: str = "customapp") -> str:
    meta = f"{{name: {name}, namespace: {namespace}}}"
    return f"{HEAD}kind: MigrationRequest\nmetadata: {meta}\nspec: {spec}\n"


def window(spec: str, name: str = "firmware") -> str:
    return f"{HEAD}kind: MaintenanceWindow\nmetadata: {{name: {name}}}\nspec: {spec}\n"


def rule(spec: str, name: str = "db") -> str:
    meta = f"{{name: {name}, namespace: customapp}}"
    return f"{HEAD}kind: ZoneAntiAffinity\nmetadata: {meta}\nspec: {spec}\n"


def read(
    files: Mapping[str, str], settings: Settings = SETTINGS
) -> tuple[IntentSet, tuple[Finding, ...]]:
    texts = {f"intents/prod/{path}": text.encode() for path, text in files.items()}
    return read_intents(texts, settings, "prod")


def one_request(spec: str) -> MigrationRequestSpec:
    intents, findings = read({"a.yaml": request(spec)})
    assert findings == ()
    ((_, value),) = intents.migration_requests
    return value


def test_a_request_with_its_defaults() -> None:
    spec = one_request("{vms: {names: [db-1]}}")
    assert spec.vms.names == ("db-1",)
    assert spec.target is None
    assert (spec.pin, spec.effective_pin) == (None, Pin.NONE)
    assert (spec.reason, spec.attempts, spec.not_before, spec.deadline) == ("Other", 1, None, None)


PINS = [
    ("{vms: {names: [a]}, target: {node: n}}", Pin.NODE),
    ("{vms: {names: [a]}, target: {zone: z}}", Pin.ZONE),
    ("{vms: {names: [a]}, target: {nodeSelector: {a: b}}}", Pin.NONE),
    ("{vms: {names: [a]}}", Pin.NONE),
    ("{vms: {names: [a]}, target: {node: n}, pin: None}", Pin.NONE),
    ("{vms: {names: [a]}, target: {zone: z}, pin: Node}", Pin.NODE),
]


@pytest.mark.parametrize(("spec", "pin"), PINS)
def test_pin_defaults(spec: str, pin: Pin) -> None:
    assert one_request(spec).effective_pin is pin


def test_times_are_seconds() -> None:
    spec = one_request(
        '{vms: {names: [a]}, notBefore: "2026-12-05T20:00+01:00", deadline: "2026-12-06T05:00Z"}'
    )
    assert (spec.not_before, spec.deadline) == (1_796_497_200, 1_796_533_200)


def test_a_window_with_its_defaults() -> None:
    intents, _ = read({"a.yaml": window("{nodes: {names: [n1]}}")})
    ((intent, spec),) = intents.maintenance_windows
    assert (intent.ref.namespace, intent.ref.id) == ("", "MaintenanceWindow/firmware")
    assert spec.nodes is not None
    assert spec.nodes.names == ("n1",)
    assert spec.schedule is None
    drain = spec.drain
    assert (drain.lead, drain.max_nodes_at_once, drain.order, drain.reboot) == (0, 1, None, 0)
    assert (drain.cordon, drain.not_migratable, drain.done) == (
        "External",
        "BlockNode",
        "Uncordoned",
    )
    assert (spec.reapprove, spec.overrun, spec.return_home) == ("Always", "StopNew", "Propose")


def test_a_schedule_takes_the_zone_of_the_cluster() -> None:
    text = window('{schedule: {start: "2026-12-06T22:00", duration: PT4H}}')
    intents, findings = read({"a.yaml": text})
    assert findings == ()
    ((_, spec),) = intents.maintenance_windows
    assert spec.schedule is not None
    assert spec.schedule.schedule("Europe/Madrid").time_zone == "Europe/Madrid"
    _, findings = read({"a.yaml": text}, Settings(clusters=(ClusterSettings(name="prod"),)))
    (finding,) = findings
    assert (finding.code, finding.line, finding.column) == ("calendar/missing-zone", 4, 8)


def test_intents_are_sorted_and_know_their_place() -> None:
    files = {
        "z.yaml": rule("{selector: {matchLabels: {a: b}}}"),
        "a.yaml": request("{vms: {names: [a]}}", name="z") + "---\n" + window("{}"),
    }
    intents, findings = read(files)
    assert findings == ()
    assert [intent.ref.where for intent in intents.intents] == [
        "intents/prod/a.yaml:6",
        "intents/prod/z.yaml:1",
        "intents/prod/a.yaml:1",
    ]
    assert [intent.index for intent in intents.of("MaintenanceWindow")] == [2]
    assert intents.find("MaintenanceWindow", "firmware") is intents.by_id(
        "MaintenanceWindow/firmware"
    )
    assert intents.find("MaintenanceWindow", "firmware", "customapp") is None


SAME = [
    ("{selector: {matchLabels: {a: b}}}", "{selector: {matchLabels: {'a': \"b\"}}} # comment"),
    ("{selector: {matchLabels: {a: b}}}", "{maxPerDomain: 1, selector: {matchLabels: {a: b}}}"),
    (
        "{selector: {matchLabels: {a: b, c: d}}}",
        "{selector: {matchLabels: {c: d, a: b}}, heal: Propose}",
    ),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_the_digest_is_of_the_meaning(left: str, right: str) -> None:
    digests = [read({"a.yaml": rule(spec)})[0].intents[0].spec_digest for spec in (left, right)]
    assert digests[0] == digests[1]


def test_another_meaning_has_another_digest() -> None:
    specs = [
        "{selector: {matchLabels: {a: b}}}",
        "{selector: {matchLabels: {a: c}}}",
        "{selector: {matchLabels: {a: b}}, maxPerDomain: 2}",
        "{selector: {matchLabels: {a: b}}, heal: Report}",
    ]
    digests = {read({"a.yaml": rule(spec)})[0].intents[0].spec_digest for spec in specs}
    assert len(digests) == len(specs)


def test_selectors_come_out_in_kubernetes_words() -> None:
    spec = "{selector: {matchExpressions: [{key: a, operator: In, values: [x]}]}}"
    intents, _ = read({"a.yaml": rule(spec)})
    ((_, value),) = intents.specs(ZoneAntiAffinitySpec)
    assert value.selector.plain() == {
        "matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]
    }


def test_a_second_identity_names_both_places() -> None:
    _, findings = read(
        {
            "b.yaml": rule("{selector: {matchLabels: {a: b}}}"),
            "a.yaml": "\n" + rule("{selector: {matchLabels: {a: c}}}"),
        }
    )
    (finding,) = findings
    assert str(finding) == (
        "intents/prod/b.yaml:3:1: metadata: found ZoneAntiAffinity customapp/db again, expected "
        "it once; it stands in intents/prod/a.yaml:4 too; rename or remove one of the two"
    )


def test_one_name_in_two_namespaces_or_kinds_is_fine() -> None:
    files = {
        "a.yaml": request("{vms: {names: [a]}}", namespace="one"),
        "b.yaml": request("{vms: {names: [a]}}", namespace="two"),
        "c.yaml": window("{}", name="move"),
    }
    assert read(files)[1] == ()


def test_the_bad_half_does_not_hide_the_good_half() -> None:
    files = {"a.yaml": request("{vms: {}}") + "---\n" + request("{vms: {names: [a]}}", name="ok")}
    intents, findings = read(files)
    assert [intent.ref.name for intent in intents.intents] == ["ok"]
    assert len(findings) == 1


def test_a_window_with_a_mistake_is_still_a_window_for_those_that_name_it() -> None:
    files = {
        "a.yaml": window("{nodes: {}}"),
        "b.yaml": request("{vms: {names: [a]}, window: firmware}"),
    }
    assert [finding.key_path for finding in read(files)[1]] == ["spec.nodes"]


AUTO = [
    (rule("{selector: {matchLabels: {a: b}}, heal: Auto}"), "spec.heal"),
    (window("{nodes: {names: [n]}, returnHome: Auto}"), "spec.returnHome"),
]


@pytest.mark.parametrize(("text", "path"), AUTO)
def test_auto_needs_allow_auto(text: str, path: str) -> None:
    (finding,) = read({"a.yaml": text})[1]
    assert (finding.code, finding.key_path) == ("intents/auto", path)
    allowed = Settings(clusters=SETTINGS.clusters, allow_auto=True)
    assert read({"a.yaml": text}, allowed)[1] == ()


PLACES = [
    ("gitbot/a.yaml", rule("{selector: {matchLabels: {a: b}}}"), "intents/place"),
    ("a.yml", rule("{selector: {matchLabels: {a: b}}}"), "intents/file-name"),
    ("a.json", "{}", "intents/file-name"),
    ("a .yaml/b.yaml ", "{}", "intents/file-name"),
    ("b.yaml.", "{}", "intents/file-name"),
    ("folder /b.yaml", "{}", "intents/file-name"),
    ("a\nb.yaml", "{}", "intents/file-name"),
    ("fol\tder/b.yaml", "{}", "intents/file-name"),
    ("a\u202eb.yaml", "{}", "intents/file-name"),
]


@pytest.mark.parametrize(("path", "text", "code"), PLACES)
def test_places_of_files(path: str, text: str, code: str) -> None:
    (finding,) = read({path: text})[1]
    assert finding.code == code


UNREAD = [
    ("moves", request("{vms: {names: [db-1]}}")),
    ("moves.yaml.bak", "# ours\n---\n" + request("{vms: {names: [db-1]}}")),
    ("moves.txt", "\ufeff\nkind: MigrationRequest\n"),
]


@pytest.mark.parametrize(("path", "text"), UNREAD)
def test_an_intent_in_a_file_that_is_not_read_is_a_warning(path: str, text: str) -> None:
    intents, (finding,) = read({path: text})
    assert (finding.code, finding.severity) == ("intents/file-name", Severity.WARNING)
    assert finding.file == f"intents/prod/{path}"
    assert finding.message.endswith("expected the ending .yaml")
    assert intents.intents == ()


def test_a_file_in_the_place_of_a_clusters_folder_is_an_error() -> None:
    _, (finding,) = read_intents({"intents/prod": b"later\n"}, SETTINGS, "prod")
    assert (finding.code, finding.severity) == ("intents/file-name", Severity.ERROR)
    assert finding.message == "found a file, expected the folder with the intents of prod"


def test_other_files_are_nobodys_business() -> None:
    assert read({"README.md": "# ours", "OWNERS": "me", ".gitkeep": ""})[1] == ()


WEEKLY = '{schedule: {start: "2026-12-06T22:00", timeZone: UTC, duration: PT4H, %s}}'
OPENINGS = [
    ('deadline: "2026-12-07T00:00Z"', "recurrence: FREQ=WEEKLY", True),
    ('deadline: "2026-12-06T22:00Z"', "recurrence: FREQ=WEEKLY", False),
    (
        'notBefore: "2026-12-07T03:00Z", deadline: "2026-12-13T20:00Z"',
        "recurrence: FREQ=WEEKLY",
        False,
    ),
    ('notBefore: "2026-12-07T01:00Z"', "exclude: []", True),
    ('notBefore: "2026-12-07T02:00Z"', "exclude: []", False),
]


@pytest.mark.parametrize(("times", "schedule", "opens"), OPENINGS)
def test_a_request_whose_window_never_opens_for_it(times: str, schedule: str, opens: bool) -> None:
    files = {
        "a.yaml": window(WEEKLY % schedule),
        "b.yaml": request(f"{{vms: {{names: [a]}}, window: firmware, {times}}}"),
    }
    codes = [finding.code for finding in read(files)[1]]
    assert codes == ([] if opens else ["intents/never-open"])


FREEZES = [
    ("{}", False),
    ("{namespaces: [customapp]}", False),
    ("{namespaces: [other]}", True),
    ("{selector: {matchLabels: {a: b}}}", True),
    ('{schedule: {start: "2026-12-01T00:00", timeZone: UTC, duration: P10D}}', False),
    ('{schedule: {start: "2026-12-06T00:00", timeZone: UTC, duration: P10D}}', True),
]


@pytest.mark.parametrize(("freeze", "runs"), FREEZES)
def test_a_request_that_a_freeze_covers(freeze: str, runs: bool) -> None:
    text = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: quarter}}\nspec: {freeze}\n"
    times = 'notBefore: "2026-12-05T00:00Z", deadline: "2026-12-07T00:00Z"'
    files = {"a.yaml": text, "b.yaml": request(f"{{vms: {{names: [a]}}, {times}}}")}
    codes = [finding.code for finding in read(files)[1]]
    assert codes == ([] if runs else ["intents/never-open"])


def test_the_order_of_files_changes_nothing() -> None:
    files = {f"{name}.yaml": request("{vms: {names: [a]}}", name=name) for name in "cab"}
    assert read(files) == read(dict(sorted(files.items())))
