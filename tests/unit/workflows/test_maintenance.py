"""A window from its announcement to the return of the last VM, on the simulated cluster."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitbot.errors import RepositoryError, UsageError
from gitbot.execution.ledger_folds import fold_nodes
from gitbot.execution.request_records import fold_requests
from gitbot.intents import read_intents
from gitbot.kubernetes.objects import labels_of
from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.plan.plan import Hold, PlacementPlan
from gitbot.ports.forge import CheckState
from gitbot.published import PlanDocument, PlanInputs
from gitbot.settings import ClusterSettings, Settings
from gitbot.workflows.apply import apply, cancel, goes_home_by_proposal, hold, resume, returned
from gitbot.workflows.apply.waiting import POLL
from gitbot.workflows.ask import cluster_checks, status
from gitbot.workflows.core.revision_engine import drained_nodes, vms_left_running
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import ReconcileResult, reconcile
from tests.doubles.intents import HEAD
from tests.doubles.moves import a_move
from tests.doubles.trouble import by_hand, lose_node, return_node
from tests.unit.policy.test_judging import policy
from tests.unit.workflows.story import Story, configuration
from tests.unit.workflows.test_doctor import Answers

START = 1_764_561_600  # 2025-12-01T04:00:00Z
LEAD = 3600
OCCURRENCE = "20251201T040000Z"
FIRMWARE = OccurrenceId(window="firmware", id=OCCURRENCE)
DRAIN = RequestId.read(f"drain/firmware/{OCCURRENCE}")
RETURN = f"return/firmware/{OCCURRENCE}"


def window(drain: str = "", more: str = "") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [kni-worker, kni-worker2]}}
  schedule: {{start: "2025-12-01T04:00", timeZone: UTC, duration: PT4H}}
  drain: {{lead: PT1H{drain}}}
{more}"""


def nodes(story: Story) -> dict[str, str]:
    found = fold_nodes(story.store.read(), cluster="iberia", occurrence=FIRMWARE)
    return {name: str(node.state) for name, node in found.items()}


def did(result: ReconcileResult) -> dict[str, list[str]]:
    """What a pass says that happened to each node, sorted."""
    found = grouped((item.node, item.did) for item in result.applied.nodes)
    return {node: sorted(done) for node, done in sorted(found.items())}


def state(story: Story, request: str) -> str:
    return str(fold_requests(story.store.read(), "iberia")[RequestId.read(request)].state)


def wait_until(story: Story, instant: int) -> None:
    story.port.sleep(instant - story.port.now())


def settled(story: Story) -> None:
    """A second run on an unchanged world writes nothing."""
    before = story.writes()
    assert reconcile(story.shell).did_nothing
    assert story.writes() == before


def reboot(story: Story, node: str) -> None:
    lose_node(story.cluster, node)
    story.port.sleep(60)
    return_node(story.cluster, node)
    story.port.sleep(60)


def approved(*, drain: str, more: str = "") -> Story:
    """The drain is proposed, merged, and waits for its window."""
    story = Story.begin(step=1, window=window(drain, more))
    reconcile(story.shell)
    settled(story)
    (pull,) = story.pulls()
    assert pull.title == "Empty kni-worker, kni-worker2 (2 VMs, Mon 2025-12-01 04:00-08:00 UTC)"
    story.merge()
    result = reconcile(story.shell)
    assert {item.until for item in result.applied.waiting} == {START - LEAD}
    statuses = {item.context: item for item in story.forge.list_statuses(pull.head)}
    status = statuses["gitbot/apply"]
    assert status.state is CheckState.PENDING
    assert status.description.endswith("opens 2025-12-01T03:00:00Z")
    settled(story)
    return story


def test_nodes_are_emptied_one_by_one_rebooted_and_filled_again() -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    specs, homes = story.specs(), story.where()
    wait_until(story, START - LEAD)
    assert did(reconcile(story.shell)) == {"kni-worker": ["cordoned", "draining", "ready"]}
    assert nodes(story) == {"kni-worker": "ready"}
    assert "kni-worker" not in story.where().values()
    settled(story)
    reboot(story, "kni-worker")
    assert did(reconcile(story.shell)) == {
        "kni-worker": ["returned", "uncordoned"],
        "kni-worker2": ["cordoned", "draining", "ready"],
    }
    assert nodes(story) == {"kni-worker": "returned", "kni-worker2": "ready"}
    assert state(story, DRAIN) == "succeeded"
    reboot(story, "kni-worker2")
    before = story.port.now()
    reconcile(story.shell)
    assert nodes(story) == {"kni-worker": "returned", "kni-worker2": "returned"}
    assert story.port.now() - before <= 2 * POLL, "no migration was to be waited for"
    settled(story)
    assert story.pulls()[0].title == "Bring 2 VMs home to scu after firmware"
    story.merge()
    reconcile(story.shell)
    assert state(story, RETURN) == "succeeded"
    assert story.where() == homes
    assert story.specs() == specs
    settled(story)
    assert story.pulls() == ()


@pytest.mark.parametrize(("home", "proposes"), [("Propose", True), ("Never", False)])
def test_who_returns_a_node_hears_of_a_proposal_only_if_one_comes(
    home: str, proposes: bool
) -> None:
    story = approved(drain=", done: Command", more=f"  returnHome: {home}\n")
    wait_until(story, START - LEAD)
    apply(story.shell)
    story.cluster.cordon("kni-worker")
    apply(story.shell)
    returned(story.shell, node="kni-worker", by="ann")
    assert goes_home_by_proposal(story.shell, FIRMWARE) is proposes


def test_a_person_cordons_and_says_that_the_node_is_back() -> None:
    story = approved(drain=", done: Command", more="  returnHome: Never\n")
    wait_until(story, START - LEAD)
    apply(story.shell)
    assert nodes(story) == {"kni-worker": "draining"}
    story.cluster.cordon("kni-worker")
    apply(story.shell)
    assert nodes(story) == {"kni-worker": "ready"}
    story.cluster.cordon("kni-worker", unschedulable=False)
    assert returned(story.shell, node="kni-worker", by="ann") == FIRMWARE
    reconcile(story.shell)
    assert nodes(story) == {"kni-worker": "returned", "kni-worker2": "draining"}
    assert story.pulls() == ()


UNTIL = {
    "Rebooted": "cordoned by gitbot, which uncordons it when it is Ready after a reboot",
    "Command": "cordoned by gitbot, which uncordons it after: gitbot returned kni-worker",
    "Uncordoned": "cordoned by gitbot, until a person types: kubectl uncordon kni-worker",
}


@pytest.mark.parametrize("done", UNTIL)
def test_status_and_doctor_say_whose_cordon_it_is_and_what_releases_it(done: str) -> None:
    story = approved(drain=f", cordon: Gitbot, done: {done}")
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    (seen, *_) = status(story.shell).nodes[FIRMWARE]
    assert seen.cordon in (UNTIL[done], UNTIL[done].partition(",")[0])
    assert seen.next_command or seen.cordon == UNTIL[done]
    checks = {item.name: item for item in cluster_checks(story.shell, Answers(lacks={}))}
    assert checks["cluster/cordons"].message == f"kni-worker ({FIRMWARE}): {UNTIL[done]}"
    story.cluster.cordon("kni-worker", unschedulable=False)
    checks = {item.name: item for item in cluster_checks(story.shell, Answers(lacks={}))}
    assert checks["cluster/cordons"].message == "no cordon of gitbot's"


def test_what_does_not_begin_within_the_window_is_expired() -> None:
    story = approved(drain=", cordon: Gitbot")
    wait_until(story, START + 4 * 3600)
    assert apply(story.shell).states == {"expired": 2}
    assert state(story, DRAIN) == "expired"
    assert story.cluster.list("VirtualMachineInstanceMigration") == ()


def test_a_vm_that_somebody_moved_since_stays_where_it_is() -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    by_hand(story.cluster, "jumpbox", "kni-worker5")
    story.cluster.settle()
    reboot(story, "kni-worker")
    reconcile(story.shell)
    assert nodes(story)["kni-worker"] == "returned"
    assert story.pulls() == ()
    assert story.where()["jumpbox"] == "kni-worker5"
    reboot(story, "kni-worker2")
    reconcile(story.shell)
    (back,) = story.pulls()
    listed = "stay where they are: customapp/jumpbox (moved to kni-worker5 by somebody else)"
    assert listed in back.body
    story.merge()
    reconcile(story.shell)
    assert story.where()["jumpbox"] == "kni-worker5"


def goes_home_by_itself() -> Story:
    return Story.begin(
        step=1,
        window=window(", cordon: Gitbot, done: Rebooted", "  returnHome: Auto\n"),
        settings="  allowAuto: true\n",
    )


def both_reboot(story: Story) -> None:
    reconcile(story.shell)
    story.merge()
    wait_until(story, START - LEAD)
    for node in ("kni-worker", "kni-worker2"):
        reconcile(story.shell)
        reboot(story, node)


def test_vms_go_home_by_themselves_where_configuration_and_window_say_so() -> None:
    story = goes_home_by_itself()
    homes = story.where()
    both_reboot(story)
    reconcile(story.shell)
    reconcile(story.shell)
    assert story.where() == homes
    assert state(story, RETURN) == "succeeded"
    assert story.pulls() == ()
    settled(story)


def test_a_policy_refuses_a_way_home_that_needs_no_review() -> None:
    story = goes_home_by_itself()
    story.commit(**{"policies/p.yaml": policy("Move", "!move.request.startsWith('return/')")})
    homes = story.where()
    both_reboot(story)
    away = story.where()
    reconcile(story.shell)
    (back,) = [item for item in propose(story.shell).concerns if item.concern.startswith("return")]
    assert (back.action, story.pulls()) == ("nothing", ())
    assert back.reason == "the plan is refused: customapp/jumpbox: refused"
    reconcile(story.shell)
    assert away == story.where() != homes


def end_half_way(story: Story) -> None:
    """Both nodes drain, and a person deletes the migration of the jumpbox: the rest is proposed."""
    reconcile(story.shell)
    for reviewer in ("olga", "rita"):
        story.forge.approve_pull(story.pulls()[0].number, reviewer=reviewer)
    story.merge()
    wait_until(story, START - LEAD)
    apply(story.shell, max_runtime=1)
    mine = [
        item["metadata"]["name"]
        for item in story.cluster.list("VirtualMachineInstanceMigration")
        if item["spec"]["vmiName"] == "jumpbox"
    ]
    story.cluster.delete("VirtualMachineInstanceMigration", mine[0], "customapp")
    apply(story.shell)
    assert state(story, DRAIN) == "partial"
    (concern,) = [item for item in propose(story.shell).concerns if item.action == "opened"]
    assert concern.concern.startswith("rest-")


BOTH = window(", cordon: Gitbot, done: Rebooted, maxNodesAtOnce: 2")


def test_the_rest_of_a_drain_that_failed_half_way_is_proposed() -> None:
    story = Story.begin(step=1, window=BOTH)
    end_half_way(story)
    assert story.where()["jumpbox"] == "kni-worker"
    assert nodes(story) == {"kni-worker": "draining", "kni-worker2": "ready"}
    story.merge()
    reconcile(story.shell)
    assert story.where()["jumpbox"] != "kni-worker"
    assert nodes(story) == {"kni-worker": "ready", "kni-worker2": "ready"}
    assert len(story.forge.list_pulls()) == 2
    settled(story)


OWNERS = """  owners:
  - {paths: [intents/iberia], namespaces: ['*'], nodes: {names: ['*']}, teams: ['@acme/ops']}
"""


@pytest.mark.parametrize(
    ("required", "owners"), [pytest.param(1, "", id="reviews"), pytest.param(0, OWNERS, id="owner")]
)
def test_the_rest_of_what_ended_half_way_needs_its_own_approval(required: int, owners: str) -> None:
    story = Story.begin(step=1, reviews_required=required, settings=owners, window=BOTH)
    story.forge.teams["@acme/ops"] = frozenset({"olga"})
    end_half_way(story)
    story.forge.enforced = False
    story.merge()
    assert reconcile(story.shell).applied.created == 0
    assert story.where()["jumpbox"] == "kni-worker"


def test_a_vm_that_came_after_the_plan_is_proposed_when_the_rest_is_done() -> None:
    story = Story.begin(step=1, window=window(", cordon: External"))
    reconcile(story.shell)
    story.merge()
    late = next(vm for vm, node in story.where().items() if node == "kni-worker4")
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    story.cluster.cordon("kni-worker")
    reconcile(story.shell)
    story.cluster.cordon("kni-worker", unschedulable=False)
    by_hand(story.cluster, late, "kni-worker2")
    story.cluster.settle()
    reconcile(story.shell)
    assert nodes(story)["kni-worker2"] == "draining"
    assert state(story, DRAIN) == "succeeded"
    (late_vm,) = status(story.shell).unplanned["kni-worker2"]
    assert late_vm.name == late
    names = [pull.branch.rpartition("/")[2] for pull in story.pulls()]
    assert [name for name in names if name.startswith("rest-")]


def test_a_window_that_is_edited_before_it_began_is_proposed_again() -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    story.commit(window=window(", cordon: Gitbot, done: Rebooted, maxNodesAtOnce: 2"))
    result = reconcile(story.shell)
    assert result.applied.states == {"withdrawn": 2}
    assert [item.action for item in propose(story.shell).concerns] == ["unchanged"]
    story.merge()
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    assert nodes(story) == {"kni-worker": "ready", "kni-worker2": "ready"}


def test_a_window_that_is_removed_in_mid_run_still_gives_its_nodes_back() -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    assert nodes(story) == {"kni-worker": "ready"}
    story.commit(window=None)
    reboot(story, "kni-worker")
    reconcile(story.shell)
    assert nodes(story)["kni-worker"] == "returned"
    node = story.cluster.get("Node", "kni-worker")
    assert node is not None
    assert not node["spec"].get("unschedulable")


def test_a_window_without_schedule_ends_with_its_file() -> None:
    text = window(", cordon: Gitbot").replace("  schedule: {start", "  #schedule: {start")
    story = Story.begin(step=1, window=text)
    reconcile(story.shell)
    story.merge()
    first = apply(story.shell)
    assert first.states == {"succeeded": 1}
    story.commit(window=None)
    assert apply(story.shell).states == {"withdrawn": 1}
    assert story.where()["jumpbox"] != "kni-worker"


def the_base_is_rewritten(story: Story) -> None:
    """Somebody rewrites the base, and a person accepts it."""
    files = dict(story.repository.read_tree("main"))
    hold(story.shell, reason="rewritten", by="ann")
    root = story.repository.add_commit(files, parents=(), message="anew", time=story.port.now())
    story.repository.branches["main"] = root
    resume(story.shell, reason="it was me", by="ann")


def begun() -> Story:
    """A reviewed drain of two nodes, of which the first has begun."""
    story = Story.begin(
        step=1,
        window=window(", cordon: Gitbot, done: Rebooted", "  returnHome: Never\n"),
        reviews_required=1,
    )
    reconcile(story.shell)
    (pull,) = story.pulls()
    story.forge.approve_pull(pull.number, reviewer="rita")
    story.merge()
    wait_until(story, START - LEAD)
    assert apply(story.shell, max_runtime=1).created == 1
    return story


def set_rights(story: Story, *, rita: bool, reviews: int) -> None:
    """Whether the reviewer may still write, and how many reviews the base asks for."""
    (story.forge.readers.discard if rita else story.forge.readers.add)("rita")
    story.forge.require_reviews(reviews)


@pytest.mark.parametrize(("rita", "reviews"), [(False, 1), (True, 2)])
def test_rights_that_are_lost_later_pause_what_has_begun(rita: bool, reviews: int) -> None:
    story = begun()
    set_rights(story, rita=rita, reviews=reviews)
    result = apply(story.shell)
    assert (result.created, result.states) == (0, {"succeeded": 1})
    reboot(story, "kni-worker")
    apply(story.shell)
    assert nodes(story) == {"kni-worker": "returned"}
    set_rights(story, rita=True, reviews=1)
    result = apply(story.shell)
    assert (result.created, result.states) == (1, {"succeeded": 1})
    assert nodes(story) == {"kni-worker": "returned", "kni-worker2": "ready"}


def test_what_has_begun_is_brought_to_its_end_without_its_approval() -> None:
    story = begun()
    the_base_is_rewritten(story)
    result = apply(story.shell)
    assert not result.unfinished
    assert result.created == 0
    assert result.states == {"succeeded": 1, "withdrawn": 1}
    assert nodes(story) == {"kni-worker": "ready"}
    reboot(story, "kni-worker")
    apply(story.shell)
    assert nodes(story) == {"kni-worker": "returned"}
    node = story.cluster.get("Node", "kni-worker")
    assert node is not None
    assert not node["spec"].get("unschedulable")
    assert labels(story, "kni-worker") == {}
    assert apply(story.shell).did_nothing


def test_a_forge_that_does_not_list_a_merge_pauses_what_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted, maxNodesAtOnce: 2")
    wait_until(story, START - LEAD)
    apply(story.shell, max_runtime=1)
    with monkeypatch.context() as patch:
        patch.setattr(type(story.forge), "list_pulls", lambda *_, **__: ())
        result = apply(story.shell)
    assert not result.unfinished
    assert "withdrawn" not in result.states
    apply(story.shell)
    assert state(story, DRAIN) == "succeeded"


def lags(story: Story, patch: pytest.MonkeyPatch) -> None:
    """A replica of the forge does not know of the merge yet."""
    asked = story.forge.get_pull
    patch.setattr(story.forge, "get_pull", lambda number: replace(asked(number), merged_at=0))


def cannot_read_blobs(story: Story, patch: pytest.MonkeyPatch) -> None:
    read = story.repository.read_blob

    def failing(rev: str, path: str) -> bytes | None:
        if "/gitbot/" in path:
            raise RepositoryError("git cat-file failed")
        return read(rev, path)

    patch.setattr(story.repository, "read_blob", failing)


@pytest.mark.parametrize("trouble", [lags, cannot_read_blobs])
def test_an_approval_that_cannot_be_read_now_ends_nothing_that_began(
    trouble: Callable[[Story, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    wait_until(story, START - LEAD)
    apply(story.shell, max_runtime=1)
    with monkeypatch.context() as patch:
        trouble(story, patch)
        assert apply(story.shell).states == {"succeeded": 1}
    reboot(story, "kni-worker")
    apply(story.shell)
    assert state(story, DRAIN) == "succeeded"


def test_a_node_of_a_failed_drain_comes_back_when_a_person_says_so() -> None:
    story = approved(drain=", cordon: Gitbot")
    wait_until(story, START - LEAD)
    apply(story.shell, max_runtime=1)
    with pytest.raises(UsageError, match="still draining"):
        returned(story.shell, node="kni-worker", by="ann")
    cancel(story.shell, request=DRAIN, reason="no", by="ann")
    apply(story.shell)
    node = story.cluster.get("Node", "kni-worker")
    assert node is not None
    assert not node["spec"].get("unschedulable")
    assert nodes(story)["kni-worker"] == "returned"


def test_hold_stops_node_labels_too() -> None:
    story = approved(drain="")
    wait_until(story, START - LEAD)
    apply(story.shell, max_runtime=30)
    assert labels(story, "kni-worker")
    story.port.patch_node_labels("kni-worker", dict.fromkeys(labels(story, "kni-worker")))
    hold(story.shell, reason="smoke", by="ann")
    apply(story.shell, max_runtime=30)
    assert labels(story, "kni-worker") == {}
    resume(story.shell, reason="", by="ann")
    apply(story.shell, max_runtime=30)
    assert labels(story, "kni-worker")


def test_nothing_is_written_on_nodes_once_the_mode_is_observe() -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    wait_until(story, START - LEAD)
    apply(story.shell)
    assert nodes(story) == {"kni-worker": "ready"}
    text = configuration("  mode: Observe\n").encode()
    main = story.repository.commit("main").id
    story.repository.write_commit(
        branch="main",
        expected=main,
        files={".gitbot.yaml": text},
        message="wait",
        time=story.port.now(),
    )
    reboot(story, "kni-worker")
    found = story.cluster.get("Node", "kni-worker")
    assert did(reconcile(story.shell)) == {}
    assert story.cluster.get("Node", "kni-worker") == found


def labels(story: Story, node: str) -> dict[str, str]:
    """gitbot's labels on a node."""
    found = labels_of(story.cluster.get("Node", node) or {})
    return {key: value for key, value in found.items() if key.startswith("placement.gitbot.dev/")}


def test_a_node_that_a_vm_only_steps_aside_on_is_not_drained() -> None:
    request = RequestId.read("drain/fw/o1")
    aside = a_move("one", "c", "b", request=request, group=f"{request}/a")
    own = a_move("two", "a", "c", number=2, request=request, group=f"{request}/a")
    nodes = tuple({"kind": "Node", "metadata": {"name": name}} for name in ("a", "empty"))
    document = PlanDocument(
        plan=PlacementPlan(cluster="prod", moves=(aside, own)),
        digest="",
        expires_at=0,
        inputs=PlanInputs(),
        manifests=nodes,
    )
    assert drained_nodes(document, request) == ("a", "empty")


@pytest.mark.parametrize(
    ("drain", "found"), [(", notMigratable: LeaveRunning", {"fixed"}), ("", set())]
)
def test_no_vm_that_the_plan_moves_may_be_left_running(drain: str, found: set[str]) -> None:
    """It is on hold for the node that it goes to."""
    settings = Settings(clusters=(ClusterSettings(name="iberia"),))
    intents, _ = read_intents({"intents/w.yaml": window(drain).encode()}, settings, "iberia")
    ((_, spec),) = intents.maintenance_windows
    there = a_move("one", "a", "b", request=DRAIN, group=f"{DRAIN}/a")
    held = tuple(
        Hold(request=DRAIN, intent=there.intent, vm=vm, code="", reason="")
        for vm in (there.vm, replace(there.vm, name="fixed"))
    )
    document = PlanDocument(
        plan=PlacementPlan(cluster="prod", moves=(there,), holds=held),
        digest="",
        expires_at=0,
        inputs=PlanInputs(),
    )
    assert {vm.name for vm in vms_left_running(spec, document, DRAIN)} == found
