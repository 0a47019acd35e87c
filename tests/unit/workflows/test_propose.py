"""The bot's pull requests: one a concern, quiet, renewed, never over a person's push."""

from typing import Any

import pytest

from gitbot.errors import RepositoryError
from gitbot.execution.cluster_facts import ClusterFacts
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.problem import PlacementProblem
from gitbot.ports.forge import PullState
from gitbot.workflows.apply import apply
from gitbot.workflows.check import publish
from gitbot.workflows.current_state import read_current_state
from gitbot.workflows.propose import ProposeResult, propose
from gitbot.workflows.propose.concerns import ConcernSources, concern_name, find_concerns
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.doubles.ledger import last_move
from tests.unit.workflows.story import CLUSTER, Story, configuration

HEAL = "heal-zoneantiaffinity-customapp-mssql2016"
FILE = f"intents/{CLUSTER}/gitbot/{HEAL}.yaml"


NAMES = [
    (("drain", "Scu-firmware", "20261206T210000Z"), "drain-scu-firmware-20261206t210000z"),
    (("heal", "", "db"), "heal-db"),
    (("request", "a" * 192), "request-" + "a" * 192),
    (("request", "a" * 193), "request-" + "a" * 181 + "-f9a278d52e"),
    (("request", "a" * 180 + ".b" + "a" * 60), "request-" + "a" * 180 + "-"),
    (("request", "a-x.lock"), "request-a-x.lock-"),
]


@pytest.mark.parametrize(("parts", "name"), NAMES)
def test_names_of_concerns_fit_into_a_ref_and_a_file(parts: tuple[str, ...], name: str) -> None:
    made = concern_name(*parts)
    assert made.startswith(name)
    assert len(made) <= 200
    assert len(made) == len(name) + (10 if name.endswith("-") else 0)
    assert not made.endswith(".lock")


def test_concerns_of_two_namespaces_never_share_a_name() -> None:
    story = Story.begin()
    places = (("a", "b-c"), ("a-b", "c"), ("a", "x" * 230), ("a", "x" * 229 + "y"))
    for number, (namespace, name) in enumerate(places):
        text = REQUEST.replace("namespace: customapp", f"namespace: {namespace}")
        story.commit(**{f"r{number}": text.replace("name: jump,", f"name: {name},")})
    assert len(actions(propose(story.shell))) == len(places)


def migration_of(vm: str, node: str, *, name: str = "back") -> dict[str, object]:
    """Somebody else moves a VM."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": name, "namespace": "customapp"},
        "spec": {"vmiName": vm, "addedNodeSelector": {"kubernetes.io/hostname": node}},
    }


def actions(result: ProposeResult) -> dict[str, str]:
    return {item.concern: item.action for item in result.concerns}


def test_a_breach_is_proposed_once_with_its_plan() -> None:
    story = Story.begin(db=RULE)
    assert actions(propose(story.shell)) == {HEAL: "opened"}
    (pull,) = story.pulls()
    assert pull.branch == f"gitbot/pull/{CLUSTER}/{HEAL}"
    changed = {
        path
        for path, data in story.repository.read_tree(pull.head).items()
        if story.repository.read_blob("main", path) != data
    }
    assert changed == {FILE}
    (comment,) = story.forge.list_comments(pull.number)
    assert "**1 move, 0 blocked, rule breaks 1 → 0**" in comment.body


def test_a_second_run_writes_nothing() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    before = story.writes()
    result = propose(story.shell)
    assert actions(result) == {HEAL: "unchanged"}
    assert result.did_nothing
    assert story.writes() == before


def test_merging_it_heals_the_rule_and_touches_no_spec() -> None:
    story = Story.begin(db=RULE)
    specs = story.specs()
    propose(story.shell)
    story.merge()
    result = apply(story.shell)
    assert result.states == {"succeeded": 1}
    assert story.databases() == ["kni-worker2", "kni-worker4", "kni-worker6"]
    assert story.specs() == specs
    assert actions(propose(story.shell)) == {}
    apply(story.shell)  # anchors what was written since
    before = story.writes()
    assert propose(story.shell).did_nothing
    assert apply(story.shell).did_nothing
    assert story.writes() == before


def test_closed_without_a_merge_it_stays_silent_until_the_plan_changes() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    story.forge.close_pull(pull.number)
    assert actions(propose(story.shell)) == {HEAL: "silent"}
    assert story.pulls() == ()
    assert story.repository.resolve(pull.branch) is None
    before = story.writes()
    assert propose(story.shell).did_nothing
    assert story.writes() == before
    story.cluster.cordon("kni-worker2")
    story.cluster.settle()
    assert actions(propose(story.shell))[HEAL] in ("opened", "nothing")


def test_a_breach_is_proposed_only_after_it_stood_for_a_while() -> None:
    story = Story.begin(db=RULE)
    story.commit(**{".gitbot.yaml": configuration().replace("PT0S", "PT15M")})
    assert actions(propose(story.shell)) == {HEAL: "waiting"}
    story.port.sleep(899)
    assert actions(propose(story.shell)) == {HEAL: "waiting"}
    story.port.sleep(1)
    assert actions(propose(story.shell)) == {HEAL: "opened"}


def test_a_breach_that_flaps_opens_at_most_one_pull_request() -> None:
    story = Story.begin(db=RULE)
    story.commit(**{".gitbot.yaml": configuration().replace("PT0S", "PT15M")})
    for number in range(6):
        propose(story.shell)
        story.commit(db=RULE if number % 2 else None)
        story.port.sleep(600)
    assert story.forge.list_pulls() == ()


def test_it_is_closed_when_its_concern_is_gone() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    story.commit(db=None)
    assert actions(propose(story.shell)) == {HEAL: "closed"}
    assert story.forge.get_pull(pull.number).state is PullState.CLOSED
    assert story.repository.resolve(pull.branch) is None
    before = story.writes()
    assert propose(story.shell).did_nothing
    assert story.writes() == before


def test_a_persons_push_is_never_overwritten() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    head = story.commit(pull.branch, **{FILE: "# mine\n"})
    assert actions(propose(story.shell)) == {HEAL: "unchanged"}
    assert story.repository.resolve(pull.branch) == head
    story.commit(db=None)
    propose(story.shell)
    assert story.repository.resolve(pull.branch) == head
    assert story.forge.get_pull(pull.number).state is PullState.OPEN


def test_it_is_renewed_before_it_expires_with_the_same_digest() -> None:
    story = Story.begin(db=RULE)
    first = propose(story.shell).concerns[0]
    story.port.sleep(17 * 3600)
    assert actions(propose(story.shell)) == {HEAL: "unchanged"}
    story.port.sleep(2 * 3600)
    second = propose(story.shell).concerns[0]
    assert (second.action, second.digest) == ("renewed", first.digest)
    story.port.sleep(10 * 3600)
    story.merge()
    assert apply(story.shell).states == {"succeeded": 1}


def test_a_merge_after_expiry_approves_nothing() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.port.sleep(86_401)
    story.merge()
    result = apply(story.shell)
    assert (result.created, len(result.approvals.refused)) == (0, 1)
    assert "the proposal had expired" in result.approvals.refused[0].reason


def test_a_request_that_came_without_a_pull_request_is_proposed() -> None:
    story = Story.begin(jump=REQUEST)
    assert apply(story.shell).created == 0
    assert actions(propose(story.shell)) == {"request-customapp-jump": "opened"}
    story.merge()
    assert apply(story.shell).states == {"succeeded": 1}
    assert story.where()["jumpbox"] == "kni-worker5"
    assert actions(propose(story.shell)) == {}


IMPOSSIBLE = [
    (REQUEST.replace("jumpbox", "ghost"), "ghost"),
    (REQUEST.replace("kni-worker5", "kni-worker99"), "kni-worker99"),
    (REQUEST + '  deadline: "2001-01-01T00:00:00Z"\n', "the deadline 2001-01-01T00:00:00Z"),
]


@pytest.mark.parametrize(("text", "word"), IMPOSSIBLE)
def test_a_request_that_cannot_be_planned_is_named_with_its_reason(text: str, word: str) -> None:
    story = Story.begin(jump=text)
    result = propose(story.shell)
    assert actions(result) == {"request-customapp-jump": "nothing"}
    assert word in result.concerns[0].reason
    assert result.failed
    again = propose(story.shell)
    assert (again.did_nothing, again.failed) == (True, True)


def test_a_request_that_no_node_takes_is_named_with_its_reason() -> None:
    story = Story.begin(jump=REQUEST)
    story.cluster.cordon("kni-worker5")
    story.cluster.settle()
    result = propose(story.shell)
    assert result.concerns[0].reason.startswith("there is no plan: ")
    assert result.failed


def test_a_request_that_can_be_proposed_is_no_failure() -> None:
    story = Story.begin(jump=REQUEST)
    assert not propose(story.shell).failed


def test_a_request_that_is_met_already_is_no_failure() -> None:
    story = Story.begin()
    there = story.where()["jumpbox"]
    story.commit(jump=REQUEST.replace("kni-worker5", there))
    assert not propose(story.shell).failed


def test_at_most_so_many_are_open_at_once() -> None:
    story = Story.begin(db=RULE, jump=REQUEST)
    text = configuration().replace("PT0S", "PT0S, maxOpen: 1")
    story.commit(**{".gitbot.yaml": text})
    assert actions(propose(story.shell)) == {HEAL: "opened", "request-customapp-jump": "waiting"}


def test_the_cluster_is_indexed_once_however_many_rules_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules: dict[str, Any] = {
        f"r{number}": RULE.replace("mssql2016", f"app-{number}", 1) for number in range(20)
    }
    indexed: list[PlacementProblem] = []
    of = ClusterFacts.of

    def counted(problem: PlacementProblem, migrations: tuple[KubernetesObject, ...]) -> Any:
        indexed.append(problem)
        return of(problem, migrations)

    seen = read_current_state(Story.begin(db=RULE, **rules).shell, Ledger())
    monkeypatch.setattr(ClusterFacts, "of", counted)
    assert len(find_concerns(ConcernSources.of(seen))) == 21
    assert len(indexed) == 1


def test_heal_report_proposes_nothing() -> None:
    story = Story.begin(db=RULE + "  heal: Report\n")
    assert actions(propose(story.shell)) == {}


def test_heal_auto_needs_no_pull_request() -> None:
    story = Story.begin(db=RULE)
    story.commit(
        **{".gitbot.yaml": configuration("  allowAuto: true\n")}, db=RULE + "  heal: Auto\n"
    )
    assert actions(propose(story.shell)) == {HEAL: "auto"}
    assert story.forge.list_pulls() == ()
    assert apply(story.shell).states == {"succeeded": 1}
    assert last_move(story.store.read()).merger == "policy"
    assert actions(propose(story.shell)) == {}


def test_a_vm_moved_lately_is_left_alone_where_nothing_required_is_broken() -> None:
    story = Story.begin(db=RULE + "  enforcement: Preferred\n")
    propose(story.shell)
    story.merge()
    apply(story.shell)
    moved = next(name for name, node in story.where().items() if node == "kni-worker2")
    story.cluster.apply([migration_of(moved, "kni-worker6")])
    story.cluster.settle()
    result = propose(story.shell)
    assert actions(result) == {HEAL: "nothing"}
    assert "was moved lately" in result.concerns[0].reason
    story.port.sleep(86_401)
    assert actions(propose(story.shell)) == {HEAL: "opened"}


def test_a_plan_that_no_longer_keeps_the_law_is_proposed_anew_beside_the_old() -> None:
    story = Story.begin(jump=REQUEST.replace("kni-worker5", "kni-worker3"))
    propose(story.shell)
    story.merge()
    story.cluster.cordon("kni-worker3")
    story.cluster.settle()
    result = apply(story.shell)
    assert [item.request for item in result.stale] == ["request/customapp/jump"]
    assert actions(propose(story.shell)) == {"request-customapp-jump": "nothing"}
    story.cluster.cordon("kni-worker3", unschedulable=False)
    story.cluster.settle()
    assert apply(story.shell).states == {"succeeded": 1}


def test_finished_requests_are_tidied_away_once_a_week_without_effect() -> None:
    story = Story.begin(jump=REQUEST, db=RULE + "  heal: Report\n")
    propose(story.shell)
    story.merge()
    apply(story.shell)
    assert actions(propose(story.shell)) == {}
    story.port.sleep(7 * 86_400)
    assert actions(propose(story.shell)) == {"tidy": "opened"}
    assert propose(story.shell).did_nothing
    story.merge()
    files = sorted(story.repository.read_tree("main", "intents/"))
    assert files == [f"intents/{CLUSTER}/db.yaml"]
    assert apply(story.shell).did_nothing
    propose(story.shell)
    assert story.pulls() == ()
    before = story.writes()
    assert propose(story.shell).did_nothing
    assert story.writes() == before


DAY = 86_400


@pytest.mark.parametrize("period", [3600, 4 * 3600, 12 * 3600])
@pytest.mark.parametrize("more", ["", "  enforcement: Preferred\n"])
def test_a_concern_that_comes_and_goes_slowly_has_one_pull_request_a_day(
    period: int, more: str
) -> None:
    story = Story.begin(db=RULE + more)
    times: list[int] = []
    end = story.port.now() + 3 * DAY // 2
    while story.port.now() < end:
        for text in (RULE + more, None):
            story.commit(db=text)
            if actions(propose(story.shell)).get(HEAL) == "opened":
                times.append(story.port.now())
            story.port.sleep(period // 2)
    assert len(times) == 2
    assert times[1] - times[0] >= DAY


def test_a_required_rule_broken_again_after_a_merge_is_proposed_at_once() -> None:
    story = Story.begin(db=RULE)
    for name in ("back", "again"):
        propose(story.shell)
        story.merge()
        assert apply(story.shell).states["succeeded"] >= 1
        propose(story.shell)
        (moved,) = [name for name, node in story.where().items() if node == "kni-worker2"]
        story.cluster.apply([migration_of(moved, "kni-worker6", name=name)])
        story.cluster.settle()
    assert actions(propose(story.shell)) == {HEAL: "opened"}


def test_a_wish_waits_four_times_as_long() -> None:
    story = Story.begin(db=RULE + "  enforcement: Preferred\n")
    story.commit(**{".gitbot.yaml": configuration().replace("PT0S", "PT15M")})
    propose(story.shell)
    story.port.sleep(3599)
    assert actions(propose(story.shell)) == {HEAL: "waiting"}
    story.port.sleep(1)
    assert actions(propose(story.shell)) == {HEAL: "opened"}


TAKEN = f"gitbot/pull/{CLUSTER}/{HEAL}"


def refuse(branch: str, story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository says of a branch what it says if fsck refuses what somebody pushed."""
    resolve = story.repository.resolve

    def refusing(rev: str) -> str | None:
        if rev == branch:
            raise RepositoryError(f"branch {branch} cannot be fetched: fsck error")
        return resolve(rev)

    monkeypatch.setattr(story.repository, "resolve", refusing)


@pytest.mark.parametrize("refused", [False, True])
def test_a_branch_of_somebody_stops_its_own_concern_only(
    refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story.begin(db=RULE)
    number = story.open(jump=REQUEST).number
    publish(story.shell, number=number)
    story.port.sleep(1)
    story.merge(number)
    story.commit(TAKEN, **{"README.md": "mine"})
    if refused:
        refuse(TAKEN, story, monkeypatch)
    result = reconcile(story.shell)
    (report,) = (item for item in result.proposed.concerns if item.concern == HEAL)
    assert report.action == "waiting"
    said = "cannot be fetched: fsck error" if refused else "holds somebody's commits: remove it"
    assert report.reason == f"branch {TAKEN} {said}"
    assert story.where()["jumpbox"] == "kni-worker5"  # what is approved went on


def test_a_branch_that_a_killed_run_left_is_gitbots_whatever_its_account_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run was killed between push and ledger; its account is that of an App."""
    story = Story.begin(db=RULE)
    story.forge.account = "acme-gitbot[bot]"
    monkeypatch.setattr(type(story.forge), "bot", story.forge.account)
    story.repository.write_commit(
        branch=TAKEN,
        expected=None,
        files={FILE: b"old"},
        message="left",
        time=story.port.now(),
        parents=(story.repository.commit("main").id,),
    )
    assert actions(propose(story.shell)) == {HEAL: "opened"}


def test_a_branch_in_the_way_of_the_snapshots_stops_no_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `gitbot/snapshot/iberia/x` does, which anybody who may push can make."""
    story = Story.begin(db=RULE)
    write = story.repository.write_commit

    def written(**asked: Any) -> str:
        if asked["branch"].startswith("gitbot/snapshot/"):
            raise RepositoryError("gitbot/snapshot/iberia cannot be made", hint="rename what is")
        return write(**asked)

    monkeypatch.setattr(story.repository, "write_commit", written)
    result = reconcile(story.shell, pack=lambda _: b"snapshot")
    assert actions(result.proposed) == {HEAL: "opened"}
    assert "the snapshot is not published: gitbot/snapshot/iberia cannot be made" in story.lines[0]
