"""Folders own namespaces, and file names that a checkout could not keep apart are refused."""

import pytest

from gitbot.settings import ClusterSettings, OwnerSettings, Settings
from tests.unit.intents.test_read_intents import HEAD, read, request, rule, window

OWNERS = (
    OwnerSettings(paths=("intents/prod",), namespaces=("*",)),
    OwnerSettings(paths=("intents/*/team-a", "intents/prod/a.yaml"), namespaces=("a", "a-*")),
    OwnerSettings(paths=("intents/prod/team-a/legacy",), namespaces=("old",)),
)
TEAM = OwnerSettings(paths=("intents/prod/team-a",), namespaces=("a",))
FREEZE = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: freeze}}\nspec: "
RULE = "{selector: {matchLabels: {app: db}}}"


def refusals(file: str, text: str, owners: tuple[OwnerSettings, ...] = OWNERS) -> list[str]:
    settings = Settings(clusters=(ClusterSettings(name="prod"),), owners=owners)
    intents, findings = read({file: text}, settings)
    found = [str(finding) for finding in findings if finding.code == "intents/owner"]
    assert bool(found) != bool(intents.intents)
    return found


ACTS = [
    ("team-a/x.yaml", "a"),
    ("team-a/deep/er/x.yaml", "a-test"),
    ("team-a/legacy/x.yaml", "old"),
    ("a.yaml", "a"),
    ("platform/x.yaml", "payments"),
    ("team-ab/x.yaml", "payments"),
]


@pytest.mark.parametrize(("file", "namespace"), ACTS)
def test_a_file_acts_in_the_namespaces_of_its_folder(file: str, namespace: str) -> None:
    assert refusals(file, request("{vms: {names: [db]}}", namespace=namespace)) == []


REFUSED = [
    ("team-a/x.yaml", "payments"),
    ("team-a/x.yaml", "team-a"),
    ("team-a/x.yaml", "old"),
    ("team-a/legacy/x.yaml", "a"),
    ("a.yaml", "b"),
]


@pytest.mark.parametrize(("file", "namespace"), REFUSED)
def test_no_file_acts_elsewhere(file: str, namespace: str) -> None:
    (said,) = refusals(file, request("{vms: {names: [db]}}", namespace=namespace))
    assert f'metadata.namespace: found "{namespace}", expected a namespace of this folder' in said
    assert said.startswith(f"intents/prod/{file}:3:")


def test_a_rule_is_bound_as_well() -> None:
    assert refusals("team-a/x.yaml", rule(RULE)) != []


def test_only_a_star_stands_for_other_letters() -> None:
    owners = (*OWNERS, OwnerSettings(paths=("intents/prod/team[1]?",), namespaces=("b",)))
    text = request("{vms: {names: [db]}}", namespace="payments")
    assert refusals("team[1]?/x.yaml", text, owners) != []
    assert refusals("team1x/x.yaml", text, owners) == []


@pytest.mark.parametrize(("file", "bound"), [("deep/er/x.yaml", True), ("x.yaml", False)])
def test_two_stars_at_the_end_are_all_that_a_folder_holds(file: str, bound: bool) -> None:
    owners = (*OWNERS, OwnerSettings(paths=("intents/prod/deep/**",), namespaces=("b",)))
    said = refusals(file, request("{vms: {names: [db]}}", namespace="payments"), owners)
    assert bool(said) is bound


def test_what_acts_in_the_whole_cluster_needs_a_folder_of_all_namespaces() -> None:
    drain = window("{nodes: {names: [n1]}}")
    assert refusals("platform/x.yaml", drain) == []
    (said,) = refusals("team-a/x.yaml", drain)
    assert "found MaintenanceWindow, which acts in the whole cluster" in said
    assert refusals("team-a/x.yaml", FREEZE + "{reason: x}\n") != []
    assert refusals("team-a/x.yaml", FREEZE + "{namespaces: [a]}\n") == []
    assert refusals("team-a/x.yaml", FREEZE + "{namespaces: [a, b]}\n") != []


def test_a_change_window_moves_nothing_and_may_stand_anywhere() -> None:
    schedule = '{start: "2026-12-05T22:00", duration: PT4H, timeZone: Europe/Madrid}'
    assert refusals("team-a/x.yaml", window(f"{{schedule: {schedule}}}")) == []


def test_a_file_that_no_owner_names_moves_nothing() -> None:
    (said,) = refusals("elsewhere/x.yaml", request("{vms: {names: [db]}}"), OWNERS[1:])
    assert "found a file that no owner in .gitbot.yaml names" in said


@pytest.mark.parametrize("twin", ["team-A/x.yaml", "team-a/X.yaml"])
def test_names_that_differ_by_case_only_are_refused(twin: str) -> None:
    texts = {
        "team-a/x.yaml": request("{vms: {names: [a]}}"),
        twin: request("{vms: {names: [b]}}", "b"),
    }
    _, findings = read(texts)
    assert [finding.code for finding in findings] == ["intents/file-name"]


@pytest.mark.parametrize(
    "file",
    ["Team-A/x.yaml", "Gitbot/x.yaml", "team-b./x.yaml", "team-b/a\\b.yaml", "cafe\u0301/x.yaml"],
)
def test_a_folder_that_looks_like_another_is_refused(file: str) -> None:
    """What owners bind, and gitbot's own folder, though nothing is there yet."""
    cafe = OwnerSettings(paths=("intents/prod/caf\u00e9",), namespaces=("a",))
    settings = Settings(clusters=(ClusterSettings(name="prod"),), owners=(*OWNERS[:1], TEAM, cafe))
    _, findings = read({file: request("{vms: {names: [a]}}", namespace="b")}, settings)
    assert [finding.code for finding in findings] == ["intents/file-name"]


def test_two_folders_that_differ_by_case_only_are_refused() -> None:
    texts = {
        "team-c/x.yaml": request("{vms: {names: [a]}}"),
        "Team-C/y.yaml": request("{vms: {names: [b]}}", "b"),
    }
    _, findings = read(texts)
    assert [finding.code for finding in findings] == ["intents/file-name"]


def test_names_that_differ_by_unicode_form_only_are_refused() -> None:
    texts = {
        "caf\u00e9.yaml": request("{vms: {names: [a]}}"),
        "cafe\u0301.yaml": request("{vms: {names: [b]}}", "b"),
    }
    _, findings = read(texts)
    assert [finding.code for finding in findings] == ["intents/file-name"]


def test_teams_side_by_side_without_owners_are_worth_one_warning() -> None:
    texts = {
        "a/x.yaml": request("{vms: {names: [a]}}", "one", "a"),
        "b/x.yaml": request("{vms: {names: [b]}}", "two", "b"),
        "c/x.yaml": request("{vms: {names: [c]}}", "three", "c"),
    }
    _, (finding,) = read(texts)
    assert (finding.code, finding.severity.value) == ("intents/no-owners", "warning")
    assert "found no owners, with folders that act in the namespaces a, b, c" in str(finding)
    _, findings = read({"a/x.yaml": texts["a/x.yaml"], "a/y.yaml": texts["b/x.yaml"]})
    assert findings == ()
