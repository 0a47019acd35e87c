"""What a pull request shows beside its comment: checks with annotations, labels, what changed."""

from dataclasses import replace

import pytest

from gitbot.errors import ForgeError, UnreachableError
from gitbot.ports.forge import AnnotationLevel, CheckRun, CheckState
from gitbot.workflows.apply import apply
from gitbot.workflows.approval.stale_reviews import CHANGED
from gitbot.workflows.check import publish, refresh_pulls
from gitbot.workflows.propose import propose
from gitbot.workflows.pulls import labels
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import CLUSTER, Story

EDITED = REQUEST.replace("kni-worker5", "kni-worker3")
ANYWHERE = REQUEST.replace("{node: kni-worker5}", "{zone: bcn}")
NOWHERE = REQUEST.replace("kni-worker5", "nowhere")


def checks(story: Story, number: int = 1) -> dict[str, CheckRun]:
    return {item.name: item for item in story.forge.list_checks(story.forge.get_pull(number).head)}


def show(story: Story) -> bool:
    return publish(story.shell, number=1).wrote


def body(story: Story, number: int = 1) -> str:
    return story.forge.list_comments(number)[0].body


def test_a_plan_is_a_check_with_its_digest_and_detail() -> None:
    story = Story.begin(db=RULE)
    story.open(jump=REQUEST)
    shown = publish(story.shell, number=1)
    plan, policy = checks(story)["gitbot/plan"], checks(story)["gitbot/policy"]
    assert (
        plan.title == f"{shown.check.diff and shown.check.diff.counts} (plan {shown.digest[7:19]})"
    )
    assert shown.digest in plan.summary
    assert "kni-worker5" in plan.text
    assert policy.title == f"allowed (plan {shown.digest[7:19]})"
    assert story.forge.get_pull(1).labels == (labels.PLANNED,)


def test_what_is_wrong_is_annotated_at_the_line_of_the_intent() -> None:
    story = Story.begin()
    story.open(jump=NOWHERE)
    show(story)
    (note,) = checks(story)["gitbot/plan"].annotations
    assert (note.path, note.level) == (f"intents/{CLUSTER}/jump.yaml", AnnotationLevel.FAILURE)
    assert note.line > 1
    assert "nowhere" in note.message
    assert story.forge.get_pull(1).labels == (labels.BLOCKED,)


def test_texts_with_errors_are_annotated_too() -> None:
    story = Story.begin()
    story.open(jump=REQUEST.replace("reason: Maintenance", "reason: Fun"))
    show(story)
    plan = checks(story)["gitbot/plan"]
    assert [(note.line, note.title) for note in plan.annotations] == [(7, "intents/choice")]


def test_a_plan_that_changed_since_its_review_says_so_until_it_is_approved_again() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.cluster.advance(60)
    story.forge.approve_pull(1, reviewer="bob")
    assert not show(story)
    assert CHANGED not in body(story)
    story.cluster.advance(60)
    story.commit(pull.branch, jump=EDITED)
    assert show(story)
    assert CHANGED in body(story)
    assert checks(story)["gitbot/plan"].title.startswith(CHANGED)
    assert labels.STALE in story.forge.get_pull(1).labels
    assert "Superseded plans" in body(story)
    story.cluster.advance(60)
    story.forge.approve_pull(1, reviewer="bob")
    assert [item.wrote for item in refresh_pulls(story.shell)] == [True]
    assert CHANGED not in body(story)
    assert not checks(story)["gitbot/plan"].title.startswith(CHANGED)
    assert labels.STALE not in story.forge.get_pull(1).labels
    assert refresh_pulls(story.shell) == ()


def test_where_two_must_approve_one_approval_of_the_new_plan_is_not_enough() -> None:
    story = Story.begin(reviews_required=2)
    pull = story.open(jump=REQUEST)
    show(story)
    story.cluster.advance(60)
    story.forge.approve_pull(1, reviewer="bob")
    story.cluster.advance(60)
    story.commit(pull.branch, jump=EDITED)
    show(story)
    for reviewer, again in (("eve", True), ("bob", False)):
        story.cluster.advance(60)
        story.forge.approve_pull(1, reviewer=reviewer)
        show(story)
        assert (CHANGED in body(story)) is again


@pytest.mark.parametrize("reviewer", ["ann", "eve"])
def test_a_review_that_does_not_count_makes_nothing_stale(reviewer: str) -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.forge.readers.add("eve")
    story.forge.approve_pull(1, reviewer=reviewer)
    story.cluster.advance(60)
    story.commit(pull.branch, jump=EDITED)
    show(story)
    assert CHANGED not in body(story)


def test_a_proposal_of_the_bot_that_changed_says_so_too() -> None:
    story = Story.begin(db=RULE)
    story.cluster.advance(60)
    propose(story.shell)
    (pull,) = story.pulls()
    assert pull.labels == ("gitbot", labels.PLANNED)
    story.cluster.advance(60)
    story.forge.approve_pull(pull.number, reviewer="bob")
    story.cluster.advance(60)
    story.commit(db=f"{RULE}  enforcement: Preferred\n")
    propose(story.shell)
    (pull,) = story.pulls()
    assert CHANGED in body(story, pull.number)
    assert labels.STALE in pull.labels
    story.cluster.advance(60)
    story.forge.approve_pull(pull.number, reviewer="bob")
    propose(story.shell)
    (pull,) = story.pulls()
    assert CHANGED not in body(story, pull.number)
    assert labels.STALE not in pull.labels


def test_labels_of_people_stay_and_a_forge_without_labels_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    story.open(jump=REQUEST)
    story.forge.set_labels(1, ("urgent", labels.BLOCKED))

    def refuse(number: int, names: tuple[str, ...]) -> None:
        raise ForgeError(f"no label {names} on {number}")

    with monkeypatch.context() as patch:
        patch.setattr(story.forge, "set_labels", refuse)
        assert show(story)
    assert any("labels of pull request 1 are not set" in line for line in story.lines)
    assert show(story)
    assert story.forge.get_pull(1).labels == (labels.PLANNED, "urgent")
    assert not show(story)


def test_what_became_of_the_moves_is_a_check_with_a_table() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.merge(1)
    apply(story.shell)
    check = {item.name: item for item in story.forge.list_checks(pull.head)}["gitbot/apply"]
    assert check.title == "request/customapp/jump succeeded"
    assert "| succeeded |" in check.summary
    assert "jumpbox" in check.summary


def test_with_several_clusters_a_label_stays_while_another_cluster_means_it() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    shell = replace(story.shell, several=True)
    other = CheckRun(name="gitbot/plan (other)", state=CheckState.FAILURE, title="no room")
    story.forge.set_check(pull.head, other)
    story.forge.set_labels(1, (labels.BLOCKED, labels.STALE))
    publish(shell, number=1)
    assert story.forge.get_pull(1).labels == (labels.BLOCKED, labels.PLANNED)
    assert set(checks(story)) == {
        "gitbot/plan (iberia)",
        "gitbot/policy (iberia)",
        "gitbot/plan (other)",
    }
    story.forge.set_check(pull.head, replace(other, state=CheckState.SUCCESS))
    story.commit(pull.branch, **{"docs/note.txt": "another head\n"})
    publish(shell, number=1)
    assert story.forge.get_pull(1).labels == (labels.PLANNED,)


def test_a_proposal_of_the_bot_has_the_checks_that_a_branch_may_require() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    shown = checks(story, pull.number)
    assert {name: item.state for name, item in shown.items()} == {
        "gitbot/plan": CheckState.SUCCESS,
        "gitbot/policy": CheckState.SUCCESS,
    }
    writes = story.writes()
    propose(story.shell)
    assert story.writes() == writes


def test_what_the_bot_proposed_is_not_overwritten_by_a_plan_of_its_file() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    before = story.writes(), body(story, pull.number)
    result = publish(story.shell, number=pull.number)
    assert not result.wrote
    assert (story.writes(), body(story, pull.number)) == before
    other = replace(story.shell, cluster_name="other", several=True)
    assert publish(other, number=pull.number).wrote
    assert "gitbot/plan (other)" in checks(story, pull.number)
    assert len(story.forge.list_comments(pull.number)) == 1


def test_what_a_run_that_died_left_unsaid_is_said_by_the_next_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    story.open(jump=REQUEST)

    def die(*_: object, **__: object) -> None:
        raise ForgeError("no requests are left")

    with monkeypatch.context() as patch:
        patch.setattr(story.forge, "upsert_comment", die)
        with pytest.raises(ForgeError):
            show(story)
    assert story.forge.list_comments(1) == ()
    assert [item.wrote for item in refresh_pulls(story.shell)] == [True]
    assert "kni-worker5" in body(story)
    assert "gitbot/plan" in checks(story)
    assert refresh_pulls(story.shell) == ()


def replanned(story: Story, number: int) -> None:
    """Make the next plan another one: its target is closed, and the base moved on."""
    shown = publish(story.shell, number=number).check.judged
    assert shown is not None
    story.cluster.advance(600)
    story.cluster.cordon(shown.plan.moves[0].to.node, unschedulable=True)
    story.commit(**{"docs/x.md": "x"})


def landed(story: Story, number: int) -> tuple[str, list[str]]:
    """Where the VM is once the pull request was merged and applied, and what was refused."""
    story.cluster.advance(60)
    story.merge(number)
    refused = [item.reason for item in apply(story.shell).approvals.refused]
    return story.where()["jumpbox"], refused


def test_a_plan_that_could_not_be_shown_is_not_approved_and_is_shown_by_the_next_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(reviews_required=1)
    pull = story.open(jump=ANYWHERE)
    replanned(story, pull.number)

    def die(*_: object, **__: object) -> None:
        raise ForgeError("no requests are left")

    with monkeypatch.context() as patch:
        patch.setattr(story.forge, "upsert_comment", die)
        with pytest.raises(ForgeError):
            refresh_pulls(story.shell)
    last = story.store.read().shown(pull.number, cluster=CLUSTER)[-1]
    assert not last.digest
    story.cluster.advance(60)
    assert [item.wrote for item in refresh_pulls(story.shell)] == [True]
    last = story.store.read().shown(pull.number, cluster=CLUSTER)[-1]
    assert last.digest in body(story)


def test_an_approval_while_one_plan_takes_another_s_place_counts_for_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(reviews_required=1)
    pull = story.open(jump=ANYWHERE)
    replanned(story, pull.number)
    say = story.forge.upsert_comment
    once: list[str] = []

    def slowly(number: int, *, marker: str, body: str) -> object:
        if not once:
            once.append(body)
            story.cluster.advance(4)
            story.forge.approve_pull(number, reviewer="eve")
            story.cluster.advance(4)
        return say(number, marker=marker, body=body)

    monkeypatch.setattr(story.forge, "upsert_comment", slowly)
    refresh_pulls(story.shell)
    assert CHANGED in body(story)
    home, refused = landed(story, pull.number)
    assert (home, len(refused)) == ("kni-worker", 1)


@pytest.mark.parametrize("skew", [-25, 0, 25])
def test_what_came_first_is_told_by_the_forge_s_clock(skew: int) -> None:
    story = Story.begin(reviews_required=1)
    pull = story.open(jump=ANYWHERE)
    story.forge.clock_skew = skew
    replanned(story, pull.number)
    story.forge.approve_pull(pull.number, reviewer="eve")
    story.cluster.advance(10)
    refresh_pulls(story.shell)
    assert CHANGED in body(story)
    home, refused = landed(story, pull.number)
    assert (home, len(refused)) == ("kni-worker", 1)


def test_an_approval_before_the_first_plan_must_be_given_again() -> None:
    story = Story.begin(reviews_required=1)
    pull = story.open(jump=REQUEST)
    story.cluster.advance(20)
    story.forge.approve_pull(pull.number, reviewer="eve")
    story.cluster.advance(20)
    show(story)
    assert CHANGED in body(story)
    story.cluster.advance(20)
    story.forge.approve_pull(pull.number, reviewer="eve")
    show(story)
    assert CHANGED not in body(story)
    assert landed(story, pull.number) == ("kni-worker5", [])


def test_a_remote_that_cannot_be_reached_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin(reviews_required=1)
    pull = story.open(jump=REQUEST)
    show(story)
    said = body(story)
    story.commit(**{"docs/x.md": "x"})

    def unreachable(_: str) -> None:
        raise UnreachableError("unable to access: 502")

    with monkeypatch.context() as patch:
        patch.setattr(story.repository, "fetch_commit", unreachable)
        result = reconcile(story.shell)
    assert result.unsure
    assert [item.unread for item in result.pulls] == ["unable to access: 502"]
    assert body(story) == said
    assert len(story.store.read().shown(pull.number, cluster=CLUSTER)) == 1


@pytest.mark.parametrize("mode", ["Observe", "Enforce"])
def test_clocks_that_disagree_are_told_by_the_exit_code(mode: str) -> None:
    story = Story.begin(settings=f"  mode: {mode}\n")
    story.open(jump=REQUEST)
    story.forge.clock_skew = 90
    assert reconcile(story.shell, every_pull=True).unsure
