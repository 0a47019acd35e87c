"""A file with errors on the base branch stops what its folder may act in, and nothing else."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from gitbot.cli.shared.status_page import table
from gitbot.errors import InvalidInput
from gitbot.execution.cluster_facts import is_own
from gitbot.ports.forge import PullState
from gitbot.simulation.building import namespace
from gitbot.simulation.scenes import jumpbox_machine
from gitbot.workflows.apply import apply
from gitbot.workflows.ask import status, status_document
from gitbot.workflows.check import publish
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.propose import propose
from gitbot.workflows.propose.proposal import Did
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD, RULE
from tests.unit.workflows.story import Story

OWNERS = """  owners:
  - {paths: [intents/iberia], namespaces: ['*']}
  - {paths: [intents/iberia/a], namespaces: [customapp]}
  - {paths: [intents/iberia/b], namespaces: [payments]}
  - {paths: [intents/iberia/c], namespaces: [web]}
"""
A, B = "intents/iberia/a/jump.yaml", "intents/iberia/b/pay.yaml"
OTHER, ALL = "intents/iberia/a/other.yaml", "intents/iberia/all.yaml"
BROKEN = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: [}}\n"


def request(name: str, vm: str, space: str, more: str = "") -> str:
    return f"""{HEAD}kind: MigrationRequest
metadata: {{name: {name}, namespace: {space}}}
spec:
  vms: {{names: [{vm}]}}
  reason: Maintenance
{more}"""


JUMP, PAY = request("jump", "jumpbox", "customapp"), request("pay", "pay", "payments")


def freeze(name: str, space: str, more: str = "") -> str:
    return f"""{HEAD}kind: FreezeWindow
metadata: {{name: {name}}}
spec: {{namespaces: [{space}], reason: quarter{more}}}
"""


def story(files: Mapping[str, str] = {}) -> Story:
    """The customapp cluster of team A, and VM payments/pay of team B."""
    made = Story.begin(settings=OWNERS)
    commit(made, files)
    pay: dict[str, Any] = copy.deepcopy(jumpbox_machine())
    pay["metadata"] |= {"name": "pay", "namespace": "payments"}
    made.cluster.apply([namespace("payments"), pay])
    made.cluster.settle()
    return made


def commit(made: Story, files: Mapping[str, str | None], branch: str = "main") -> str:
    return made.commit(branch, **dict(files))


def approve(made: Story, branch: str, files: dict[str, str | None]) -> int:
    pull = made.open(branch, **files)
    made.port.sleep(1)
    publish(made.shell, number=pull.number)
    made.port.sleep(1)
    made.merge(pull.number)
    made.port.sleep(61)
    return pull.number


def begun(made: Story) -> list[str]:
    found = made.cluster.list("VirtualMachineInstanceMigration")
    return sorted(item["spec"]["vmiName"] for item in found if is_own(item))


def base(made: Story) -> RevisionEngine:
    return made.shell.read_base(made.repository.commit("main").id)


def both_approved(made: Story) -> None:
    approve(made, "a", {A: JUMP})
    approve(made, "b", {B: PAY})


def test_the_other_team_goes_on() -> None:
    made = story()
    both_approved(made)
    commit(made, {OTHER: BROKEN})
    result = reconcile(made.shell).applied
    assert begun(made) == ["pay"]
    (waits,) = [item for item in result.waiting if item.vm == "customapp/jumpbox"]
    assert waits.reason == (f"{OTHER}:3 has errors, so nothing starts in namespace customapp")
    assert [
        item.next_command for item in status(made.shell).requests if not item.record.finished
    ] == ["git pull && gitbot lint"]
    commit(made, {OTHER: None})
    made.port.sleep(61)
    apply(made.shell)
    assert begun(made) == ["jumpbox", "pay"]


def test_a_pull_request_of_the_other_team_is_planned_and_approved() -> None:
    made = story({OTHER: freeze("old", "customapp")})
    commit(made, {OTHER: BROKEN})
    approve(made, "b", {B: PAY})
    apply(made.shell)
    assert begun(made) == ["pay"]


@pytest.mark.parametrize("run", [apply, reconcile])
@pytest.mark.parametrize(
    "files",
    [
        {ALL: BROKEN},  # an owner that may act in everything
        {".gitbot.yaml": "kind: ["},
        {"policies/own.yaml": "kind: ["},
        {"intents/iberia/gitbot/x.yaml": "kind: ["},
    ],
)
def test_everything_waits_for_what_no_folder_is_bound_for(run: Any, files: dict[str, str]) -> None:
    made = story()
    both_approved(made)
    commit(made, files)
    with pytest.raises(InvalidInput):
        run(made.shell)
    assert begun(made) == []


def test_everything_waits_without_owners() -> None:
    made = Story.begin()
    commit(made, {A: JUMP})
    commit(made, {OTHER: BROKEN})
    with pytest.raises(InvalidInput):
        apply(made.shell)


def windowed(more: str = "") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: night}}
spec:
  schedule: {{start: "2025-12-01T00:00", timeZone: UTC, duration: PT12H}}
{more}"""


WINDOW = "intents/iberia/a/night.yaml"


def test_a_broken_file_that_adds_a_freeze_lets_nothing_start_there() -> None:
    made = story()
    both_approved(made)
    commit(made, {OTHER: f"{freeze('new', 'customapp')}---\nkind: ["})
    apply(made.shell)
    assert begun(made) == ["pay"]


def test_a_freeze_of_the_last_valid_text_holds() -> None:
    """Also where the folder itself stops nothing: the freeze is one of the problem's."""
    made = story({OTHER: freeze("old", "customapp")})
    commit(made, {OTHER: f"{freeze('old', 'customapp').replace('old', 'older')}nothing: 1\n"})
    commit(made, {OTHER: BROKEN})
    found = base(made)
    assert [intent.ref.name for intent, _ in found.intents.freeze_windows] == ["old"]
    (broken,) = found.revision.broken
    assert broken.held == freeze("old", "customapp").encode()
    problem = found.problem(made.port.snapshot(), made.port.now())
    assert [item.intent.name for item in problem.freezes] == ["old"]


def test_a_broken_file_that_removes_a_request_does_not_start_it_and_keeps_it() -> None:
    made = story()
    both_approved(made)
    commit(made, {A: BROKEN})
    apply(made.shell)
    assert begun(made) == ["pay"]
    commit(made, {A: JUMP})
    made.port.sleep(61)
    apply(made.shell)
    assert begun(made) == ["jumpbox", "pay"]


def test_a_broken_file_that_closes_a_window_starts_nothing_that_names_it() -> None:
    """Not the request of another team either: the window may be meant to be closed."""
    made = story({WINDOW: windowed()})
    both = request("pay", "pay", "payments", "  window: night\n")
    approve(made, "b", {B: both})
    commit(made, {WINDOW: windowed().replace("PT12H", "PT1H") + "nothing: 1\n"})
    (waits,) = apply(made.shell).waiting
    assert waits.reason.startswith(f"{WINDOW}:")
    assert begun(made) == []
    commit(made, {WINDOW: windowed()})
    made.port.sleep(61)
    apply(made.shell)
    assert begun(made) == ["pay"]


def test_a_request_whose_window_is_gone_waits_and_does_not_expire() -> None:
    made = story({WINDOW: windowed()})
    approve(made, "b", {B: request("pay", "pay", "payments", "  window: night\n")})
    approve(made, "a", {A: JUMP})
    commit(made, {WINDOW: None})
    apply(made.shell)
    assert begun(made) == ["jumpbox"]
    (broken,) = base(made).revision.broken
    assert (broken.path, broken.held) == (B, made.repository.read_blob("main", B))
    commit(made, {WINDOW: windowed()})
    made.port.sleep(61)
    apply(made.shell)
    assert begun(made) == ["jumpbox", "pay"]


def test_what_has_begun_ends() -> None:
    made = story()
    both_approved(made)
    apply(made.shell, max_runtime=1)
    assert begun(made) == ["jumpbox", "pay"]
    commit(made, {A: BROKEN})
    apply(made.shell)
    assert made.states("request/customapp/jump")[-1] == "1 succeeded"


def test_a_merge_of_a_broken_file_approves_nothing_of_it() -> None:
    made = story({A: freeze("old", "customapp")})
    pull = made.open("a", **{A: JUMP})
    publish(made.shell, number=pull.number)
    commit(made, {A: f"{JUMP}nothing: 1\n"}, "a")
    made.merge(pull.number)
    made.port.sleep(61)
    commit(made, {A: JUMP})
    apply(made.shell)
    assert begun(made) == []


def test_an_approval_of_the_other_team_counts_though_the_merge_has_a_broken_file() -> None:
    made = story()
    pull = made.open("b", **{B: PAY})
    publish(made.shell, number=pull.number)
    commit(made, {OTHER: BROKEN})
    made.port.sleep(1)
    made.merge(pull.number)
    made.port.sleep(61)
    apply(made.shell)
    assert begun(made) == ["pay"]


@pytest.mark.parametrize(
    "commits",
    [
        # a renamed file would lose its freeze
        [{OTHER: None, "intents/iberia/a/new.yaml": BROKEN}],
        [{OTHER: BROKEN}, {OTHER: None, "intents/iberia/a/new.yaml": BROKEN}],
        # the configuration made it invalid, not its team
        [
            {OTHER: freeze("old", "payments"), ".gitbot.yaml": "{b takes both}"},
            {".gitbot.yaml": ""},
        ],
        # the platform, which may act everywhere, takes an identity
        [{ALL: freeze("old", "payments")}],
        # it gave the identity up, and takes it again
        [
            {OTHER: None, ALL: freeze("old", "customapp")},
            {OTHER: freeze("old", "customapp")},
            {ALL: freeze("new", "customapp")},
            {ALL: freeze("old", "customapp")},
        ],
        # the team's file has it already, and changes in the commit that brings the platform's
        [{OTHER: freeze("old", "customapp") + "# edited\n", ALL: freeze("old", "web")}],
        # the file of the platform has another error
        [
            {OTHER: None, ALL: freeze("old", "web")},
            {OTHER: freeze("old", "customapp")},
            {ALL: freeze("old", "web") + "nothing: 1\n"},
        ],
        # two files of the platform
        [
            {OTHER: None, ALL: freeze("old", "web")},
            {OTHER: freeze("old", "customapp"), "intents/iberia/too.yaml": freeze("old", "web")},
        ],
        # the last valid texts have the same identity
        [
            {OTHER: None},
            {B: freeze("old", "payments")},
            {B: freeze("new", "payments")},
            {OTHER: freeze("old", "customapp")},
            {OTHER: BROKEN, B: BROKEN},
            {B: freeze("old", "payments")},
            {B: BROKEN},
        ],
        [{"intents/iberia/a/holidays.ics": "no calendar", OTHER: "{calendar}"}],
    ],
    ids=[
        "renamed",
        "broken, then renamed",
        "configuration",
        "platform",
        "platform again",
        "platform beside it",
        "platform with an error",
        "platform twice",
        "last texts",
        "calendar",
    ],
)
def test_everything_waits_if_the_reading_is_not_sure(commits: list[dict[str, Any]]) -> None:
    made = story({OTHER: freeze("old", "customapp")})
    both_approved(made)
    plain = made.repository.read_blob("main", ".gitbot.yaml") or b""
    texts = {
        "{b takes both}": plain.decode().replace("[customapp]", "[customapp, payments]"),
        "": plain.decode(),
        "{calendar}": freeze("old", "customapp", ", calendar: {path: a/holidays.ics}"),
    }
    for files in commits:
        commit(made, {path: texts.get(text, text) for path, text in files.items()})
    with pytest.raises(InvalidInput):
        base(made)
    with pytest.raises(InvalidInput):
        apply(made.shell)
    assert begun(made) == []


PAYS, WEB = "intents/iberia/b/old.yaml", "intents/iberia/c/old.yaml"


def test_one_identity_in_two_folders_stops_these_two() -> None:
    once = '{start: "2020-01-01T00:00", timeZone: UTC, duration: PT1H}'
    made = story({PAYS: freeze("old", "payments", f", schedule: {once}")})
    both_approved(made)
    commit(made, {WEB: freeze("old", "web")})
    result = apply(made.shell)
    assert begun(made) == ["jumpbox"]
    (waits,) = result.waiting
    assert waits.reason == f"{PAYS}:1 has errors, so nothing starts in namespace payments"
    older, newer = base(made).revision.broken
    assert (older.path, older.held) == (PAYS, made.repository.read_blob("main", PAYS))
    assert (newer.path, newer.held) == (WEB, None)
    assert [item.ref.file for item, _ in base(made).intents.freeze_windows] == [PAYS]
    told = [(item.file, item.line) for item in status_document(status(made.shell)).broken_files]
    assert told == [(PAYS, 1), (WEB, 3)]
    commit(made, {WEB: freeze("new", "web")})
    made.port.sleep(61)
    apply(made.shell)
    assert begun(made) == ["jumpbox", "pay"]


@pytest.mark.parametrize("folder", ["web", "all"])
def test_a_team_that_takes_an_identity_of_the_platform_stops_itself(folder: str) -> None:
    """Whichever of the two files is read first; and the platform's window holds for all."""
    theirs, platform = f"intents/iberia/{folder}/night.yaml", "intents/iberia/c0/night.yaml"
    made = story({platform: windowed()})
    settings = (made.repository.read_blob("main", ".gitbot.yaml") or b"").decode()
    mine = settings.replace("intents/iberia/c]", f"intents/iberia/{folder}]")
    mine = mine.replace("[web]", "[web], zones: [nowhere]")
    commit(made, {".gitbot.yaml": mine, theirs: freeze("theirs", "web")})
    approve(made, "b", {B: request("pay", "pay", "payments", "  window: night\n")})
    commit(made, {theirs: freeze("theirs", "web") + "---\n" + windowed()})
    approve(made, "a", {A: JUMP})
    # the platform changes its own window
    commit(made, {platform: windowed().replace("PT12H", "PT11H")})
    apply(made.shell)
    assert begun(made) == ["jumpbox", "pay"]
    (broken,) = base(made).revision.broken
    assert (broken.path, broken.held) == (theirs, freeze("theirs", "web").encode())
    assert broken.scope == "namespace web, zone nowhere"
    assert [item.ref.file for item, _ in base(made).intents.maintenance_windows] == [platform]
    assert [item.ref.name for item, _ in base(made).intents.freeze_windows] == ["theirs"]


@pytest.mark.parametrize("folder", ["web", "all"])
@pytest.mark.parametrize("held", [freeze("theirs", "web"), None])
def test_the_platform_keeps_an_identity_that_one_commit_brings_to_both(
    folder: str, held: str | None
) -> None:
    theirs, platform = f"intents/iberia/{folder}/night.yaml", "intents/iberia/c0/night.yaml"
    made = story({"intents/iberia/c0/else.yaml": freeze("else", "none")})
    settings = (made.repository.read_blob("main", ".gitbot.yaml") or b"").decode()
    commit(made, {".gitbot.yaml": settings.replace("iberia/c]", f"iberia/{folder}]")})
    commit(made, {theirs: held} if held else {})
    approve(made, "a", {A: JUMP})
    commit(made, {platform: windowed(), theirs: f"{held}---\n" * bool(held) + windowed()})
    approve(made, "b", {B: request("pay", "pay", "payments", "  window: night\n")})
    apply(made.shell)
    assert begun(made) == ["jumpbox", "pay"]
    (broken,) = base(made).revision.broken
    assert (broken.path, broken.held) == (theirs, held.encode() if held else None)
    assert [item.ref.file for item, _ in base(made).intents.maintenance_windows] == [platform]
    (told,) = status_document(status(made.shell)).broken_files
    assert told.file == theirs


def test_a_claimant_that_changes_later_holds_its_text_from_before() -> None:
    made = story({PAYS: freeze("old", "payments"), WEB: freeze("web", "web")})
    commit(made, {WEB: freeze("old", "web")})
    commit(made, {PAYS: f"# edited\n{freeze('old', 'payments')}"})
    older, newer = base(made).revision.broken
    assert older.held == freeze("old", "payments").encode()
    assert newer.held == freeze("web", "web").encode()
    assert {item.ref.name for item, _ in base(made).intents.freeze_windows} == {"old", "web"}


def test_two_new_claimants_of_a_request_start_nothing() -> None:
    """Both folders may act in one namespace, and both are new in one commit."""
    made = story()
    settings = (made.repository.read_blob("main", ".gitbot.yaml") or b"").decode()
    commit(made, {".gitbot.yaml": settings.replace("[web]", "[web, payments]")})
    both_approved(made)
    twin = request("again", "pay", "payments")
    commit(made, {"intents/iberia/b/again.yaml": twin, "intents/iberia/c/again.yaml": twin})
    apply(made.shell)
    assert begun(made) == ["jumpbox"]
    assert [item.held for item in base(made).revision.broken] == [None, None]
    assert base(made).intents.find("MigrationRequest", "again", "payments") is None


def test_a_file_that_was_removed_on_purpose_does_not_return() -> None:
    made = story({OTHER: freeze("old", "customapp")})
    commit(made, {OTHER: None})
    commit(made, {OTHER: BROKEN})
    (broken,) = base(made).revision.broken
    assert broken.held is None
    assert base(made).intents.freeze_windows == ()


@pytest.fixture
def stopped() -> Story:
    """A merge of ann's breaks a file of team A whose freeze is valid."""
    once = '{start: "2020-01-01T00:00", timeZone: UTC, duration: PT1H}'
    made = story({OTHER: freeze("old", "customapp", f", schedule: {once}")})
    pull = made.open("a", **{OTHER: BROKEN})
    made.merge(pull.number)
    made.port.sleep(61)
    return made


def test_the_error_of_a_field_names_the_field(stopped: Story) -> None:
    approve(stopped, "b", {OTHER: f"{HEAD}kind: FreezeWindow\nmetadata: {{name: a}}\nspec: {{}}\n"})
    (broken,) = base(stopped).revision.broken
    assert broken.error.startswith("kind: found FreezeWindow, which acts in the whole cluster")


def test_status_and_dashboard_name_file_line_and_author(stopped: Story) -> None:
    approve(stopped, "b", {B: PAY})
    reconcile(stopped.shell)
    result = status(stopped.shell)
    assert not result.healthy
    (line,) = [line for line in table(result).splitlines() if OTHER in line]
    assert line.startswith(f"  {OTHER}:3: ")
    assert "(by ann in " in line
    (broken,) = base(stopped).revision.broken
    assert line.endswith(
        f"Nothing starts in namespace customapp. Its rules and freezes as of {broken.held_at[:12]} "
        "hold."
    )
    assert "### Broken files" in stopped.forge.issues[0].body
    (told,) = status_document(result).broken_files
    assert (told.file, told.line, told.author) == (OTHER, 3, "ann")


def test_one_comment_on_the_pull_request_that_broke_it(stopped: Story) -> None:
    for _ in range(2):
        reconcile(stopped.shell)
        stopped.port.sleep(61)
    (number,) = [pull.number for pull in stopped.forge.list_pulls(state=PullState.MERGED)]
    comments = [item.body for item in stopped.forge.list_comments(number)]
    (found,) = [body for body in comments if "gitbot:broken" in body]
    assert f"**`{OTHER}:3` has errors on the base branch** (by ann in " in found


def test_nothing_is_proposed_for_the_folder() -> None:
    made = story({A: JUMP, B: PAY})
    commit(made, {OTHER: BROKEN})
    reports = {item.concern: item for item in propose(made.shell).concerns}
    assert reports["request-customapp-jump"].action is Did.WAITING
    assert reports["request-payments-pay"].action is Did.OPENED


def drain(*nodes: str, more: str) -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack}}
spec:
  nodes: {{names: [{", ".join(nodes)}]}}
  drain: {{cordon: Gitbot, {more}}}
"""


def drained(made: Story, more: str = "maxNodesAtOnce: 2") -> list[str]:
    """A drain of both VMs' nodes is approved; the nodes, that of pay first."""
    places = {
        name: next(
            str(vmi["status"]["nodeName"])
            for vmi in made.cluster.list("VirtualMachineInstance", space)
            if vmi["metadata"]["name"] == name
        )
        for name, space in (("pay", "payments"), ("jumpbox", "customapp"))
    }
    assert len(set(places.values())) == 2
    nodes = list(places.values())
    commit(made, {"intents/iberia/rack.yaml": drain(*nodes, more=more)})
    propose(made.shell)
    made.port.sleep(1)
    for pull in made.pulls():
        made.merge(pull.number)
    made.port.sleep(61)
    return nodes


def cordoned(made: Story) -> set[str]:
    found = made.cluster.list("Node")
    return {item["metadata"]["name"] for item in found if item["spec"].get("unschedulable")}


def test_a_drain_begins_no_node_with_a_vm_of_the_folder_and_empties_the_others() -> None:
    made = story()
    ours, theirs = drained(made)
    commit(made, {OTHER: BROKEN})
    apply(made.shell)
    assert ours in cordoned(made)
    assert theirs not in cordoned(made)
    assert "jumpbox" not in begun(made)
    commit(made, {OTHER: None})
    made.port.sleep(61)
    apply(made.shell)
    assert "jumpbox" in begun(made)


def test_no_node_leaves_service_together_with_one_that_must_not() -> None:
    made = story()
    drained(made, more="mode: Together")
    commit(made, {OTHER: BROKEN})
    apply(made.shell)
    assert (begun(made), cordoned(made)) == ([], set())


def test_nothing_starts_on_the_nodes_of_the_entry() -> None:
    """Neither a move to one, nor a drain of an empty one."""
    made = story()
    settings = made.repository.read_blob("main", ".gitbot.yaml") or b""
    entry = "namespaces: [customapp]"
    mine = settings.decode().replace(entry, f"{entry}, nodes: {{names: [kni-worker5]}}")
    commit(made, {".gitbot.yaml": mine, OTHER: BROKEN})
    to = request("pay", "pay", "payments", "  target: {node: kni-worker5}\n")
    approve(made, "b", {B: to})
    (waits,) = apply(made.shell).waiting
    assert waits.reason.endswith("nothing starts in namespace customapp, node kni-worker5")
    assert begun(made) == []


def test_a_healing_of_the_folder_waits() -> None:
    """Its rule is in a valid file, and holds; a broken one beside it stops the moves."""
    made = story({"intents/iberia/a/rule.yaml": RULE, OTHER: BROKEN})
    reports = {item.concern: item for item in propose(made.shell).concerns}
    assert {item.action for item in reports.values()} == {Did.WAITING}
    problem = base(made).problem(made.port.snapshot(), made.port.now())
    assert "ZoneAntiAffinity/customapp/mssql2016" in {rule.ref.id for rule in problem.rules}
