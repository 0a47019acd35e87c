"""A person's pull request: planned on the merge result, shown, recorded, approved by merging."""

import itertools
from dataclasses import replace

import pytest

from gitbot.errors import UsageError
from gitbot.ports.forge import CheckState, Comment, PullRequest, PullState
from gitbot.workflows.apply import apply
from gitbot.workflows.check import (
    PublishResult,
    publish,
    publish_group,
    refresh_pulls,
)
from gitbot.workflows.core.context import PLANNING_TIMEOUT
from gitbot.workflows.propose import propose
from tests.doubles.intents import REQUEST, RULE
from tests.doubles.ledger import last_move, moves_of
from tests.unit.workflows.story import CLUSTER, Story

EDITED = REQUEST.replace("kni-worker5", "kni-worker3")


def show(story: Story, number: int = 1) -> PublishResult:
    return publish(story.shell, number=number)


def statuses(story: Story, head: str) -> dict[str, str]:
    return {item.context: str(item.state) for item in story.forge.list_statuses(head)}


def test_what_was_shown_is_approved_by_merging_and_carried_out() -> None:
    story = Story.begin(db=RULE)
    specs = story.specs()
    pull = story.open(jump=REQUEST)
    shown = show(story)
    assert shown.wrote
    assert statuses(story, pull.head) == {"gitbot/plan": "success", "gitbot/policy": "success"}
    (comment,) = story.forge.list_comments(pull.number)
    assert shown.digest in comment.body
    story.merge(pull.number)
    assert apply(story.shell).states == {"succeeded": 1}
    assert story.where()["jumpbox"] == "kni-worker5"
    last = last_move(story.store.read())
    assert (last.author, last.merger, last.digest) == ("ann", "bob", shown.digest)
    assert story.specs() == specs
    assert apply(story.shell).did_nothing


def test_a_merge_of_which_nothing_can_come_any_more_is_not_asked_about_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    asked: list[int] = []
    get_pull = story.forge.get_pull

    def counted(number: int) -> PullRequest:
        asked.append(number)
        return get_pull(number)

    for name in ("one", "two"):
        text = REQUEST.replace("name: jump,", f"name: {name},")
        pull = story.open(name, **{name: text if name == "one" else text.replace("5", "3")})
        show(story, pull.number)
        story.merge(pull.number)
        monkeypatch.setattr(story.forge, "get_pull", counted)
        asked.clear()
        apply(story.shell)
        assert set(asked) == {pull.number}
        asked.clear()
        assert apply(story.shell).did_nothing
        assert asked == []
        monkeypatch.undo()


def test_a_forge_whose_answers_do_not_agree_yet_approves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    before = story.forge.get_pull(pull.number)
    story.merge(pull.number)
    with monkeypatch.context() as patch:
        patch.setattr(story.forge, "get_pull", lambda _: before)
        result = apply(story.shell)
        assert result.created == 0
        assert "do not agree yet" in result.approvals.refused[0].reason
        assert "gitbot/apply" not in statuses(story, pull.head)
    assert apply(story.shell).states == {"succeeded": 1}


def test_showing_it_twice_writes_nothing() -> None:
    story = Story.begin()
    story.open(jump=REQUEST)
    show(story)
    before = story.writes()
    assert not show(story).wrote
    assert story.writes() == before


def test_merged_without_having_been_shown_it_approves_nothing() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    story.merge(pull.number)
    assert apply(story.shell).created == 0
    assert [item.action for item in propose(story.shell).concerns] == ["opened"]


def test_a_push_after_it_was_shown_approves_nothing() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.commit(pull.branch, jump=EDITED)
    story.merge(pull.number)
    result = apply(story.shell)
    assert result.created == 0
    assert "no plan was shown for the merged head" in result.approvals.refused[0].reason


def test_shown_again_after_the_push_the_new_plan_is_approved() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.commit(pull.branch, jump=EDITED)
    show(story)
    assert len(story.store.read().shown(pull.number, cluster=CLUSTER)) == 2
    story.merge(pull.number)
    apply(story.shell)
    assert story.where()["jumpbox"] == "kni-worker3"


def test_required_reviews_must_be_of_the_merged_head() -> None:
    story = Story.begin(reviews_required=1)
    story.forge.enforced = False
    pull = story.open(jump=REQUEST)
    show(story)
    story.forge.approve_pull(pull.number, reviewer="eve")
    story.commit(pull.branch, jump=EDITED)
    show(story)
    story.merge(pull.number)
    assert apply(story.shell).created == 0


def test_a_reviewed_plan_is_carried_out() -> None:
    story = Story.begin(reviews_required=1)
    pull = story.open(jump=REQUEST)
    show(story)
    story.forge.approve_pull(pull.number, reviewer="eve")
    story.port.sleep(5)
    story.merge(pull.number)
    apply(story.shell)
    assert last_move(story.store.read()).approvers == ("eve",)
    assert story.where()["jumpbox"] == "kni-worker5"


def test_an_impossible_request_fails_the_pull_request_and_approves_no_move() -> None:
    story = Story.begin()
    database = next(name for name, node in story.where().items() if node == "kni-worker4")
    text = REQUEST.replace("[jumpbox]", f"[{database}]").replace("kni-worker5", "kni-worker3")
    pull = story.open(jump=text)
    shown = show(story)
    assert shown.check.fails()
    assert statuses(story, pull.head)["gitbot/plan"] == "failure"
    story.merge(pull.number)
    assert apply(story.shell).created == 0


def test_an_invalid_file_is_shown_with_its_place_and_approves_nothing() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST.replace("target", "tarjet"))
    show(story)
    (comment,) = story.forge.list_comments(pull.number)
    assert "intents/iberia/jump.yaml:6:3" in comment.body
    (status,) = story.forge.list_statuses(pull.head)
    assert status.state is CheckState.FAILURE
    (record,) = story.store.read().shown(pull.number, cluster=CLUSTER)
    assert record.digest == ""
    story.commit(pull.branch, jump=None)
    story.merge(pull.number)
    assert "no plan was shown for" in apply(story.shell).approvals.refused[0].reason


def test_a_rule_is_a_preview_and_its_merge_approves_no_move() -> None:
    story = Story.begin()
    pull = story.open(db=RULE)
    show(story)
    story.merge(pull.number)
    assert apply(story.shell).created == 0
    assert [item.action for item in propose(story.shell).concerns] == ["opened"]


def test_an_edit_after_the_merge_voids_what_has_not_started() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST + '  notBefore: "2026-01-01T00:00:00Z"\n')
    show(story)
    story.merge(pull.number)
    assert apply(story.shell).waiting[0].until > story.port.now()
    story.commit(jump=EDITED)
    assert apply(story.shell).states == {"withdrawn": 1}
    assert apply(story.shell).did_nothing
    assert [item.action for item in propose(story.shell).concerns] == ["opened"]
    story.merge()
    assert apply(story.shell).states == {"succeeded": 1}
    assert story.where()["jumpbox"] == "kni-worker3"


def test_an_edit_in_a_pull_request_of_its_own_is_approved_anew() -> None:
    story = Story.begin()
    first = story.open(jump=REQUEST + '  notBefore: "2026-01-01T00:00:00Z"\n')
    show(story, first.number)
    story.merge(first.number)
    apply(story.shell)
    second = story.open("again", jump=EDITED)
    show(story, second.number)
    story.merge(second.number)
    assert apply(story.shell).states == {"succeeded": 1, "withdrawn": 1}
    assert story.where()["jumpbox"] == "kni-worker3"
    assert propose(story.shell).did_nothing


def test_removing_and_reverting_a_finished_request_has_no_effect() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.merge(pull.number)
    apply(story.shell)
    for text in (None, REQUEST):
        story.commit(jump=text)
        assert apply(story.shell).did_nothing
        propose(story.shell)
    assert story.pulls() == ()
    assert len([line for line in story.states("request/customapp/jump") if "created" in line]) == 1


def test_open_pull_requests_are_planned_again_when_their_time_runs_out() -> None:
    story = Story.begin()
    story.open(jump=REQUEST)
    show(story)
    story.port.sleep(3600)
    assert refresh_pulls(story.shell) == ()
    story.port.sleep(20 * 3600)
    (again,) = refresh_pulls(story.shell)
    assert again.wrote
    first, second = story.store.read().shown(1, cluster=CLUSTER)
    assert first.digest == second.digest
    assert second.expires_at > first.expires_at


def test_open_pull_requests_are_planned_again_when_the_base_moves_on() -> None:
    story = Story.begin()
    story.open(jump=REQUEST)
    show(story)
    story.commit(db=RULE)
    (again,) = refresh_pulls(story.shell)
    assert again.wrote
    assert refresh_pulls(story.shell) == ()


def test_a_merge_that_approved_nothing_says_so_on_the_merged_head() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.port.sleep(86_401)
    story.merge(pull.number)
    apply(story.shell)
    found = {item.context: item for item in story.forge.list_statuses(pull.head)}
    assert found["gitbot/apply"].state is CheckState.FAILURE
    assert found["gitbot/apply"].description == (
        "nothing is approved: the plan had expired when it was merged"
    )
    before = story.writes()
    assert apply(story.shell).did_nothing
    assert story.writes() == before


def test_a_proposal_with_a_digest_that_was_never_shown_approves_nothing() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    path = f"intents/{CLUSTER}/gitbot/{pull.branch.rpartition('/')[2]}.yaml"
    text = story.repository.read_blob(pull.head, path)
    assert text is not None
    digest = text.decode().partition("sha256:")[2][:64]
    story.commit(pull.branch, **{path: text.decode().replace(digest, "0" * 64)})
    story.merge(pull.number)
    result = apply(story.shell)
    assert result.created == 0
    reason = "nothing is approved: the proposal file is not as gitbot wrote it"
    assert [item.reason for item in result.approvals.refused] == [reason]


def test_with_several_clusters_a_status_names_its_own() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    publish(replace(story.shell, several=True), number=pull.number)
    assert sorted(statuses(story, pull.head)) == [
        f"gitbot/plan ({CLUSTER})",
        f"gitbot/policy ({CLUSTER})",
    ]


def test_reason_and_note_stand_in_the_ledger() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST + "  note: new power supplies\n")
    show(story)
    story.merge(pull.number)
    apply(story.shell)
    file = f"requests/{CLUSTER}/request/customapp/jump.jsonl"
    first = moves_of(story.store.read(), file)[0]
    assert (first.reason, first.note) == ("Maintenance", "new power supplies")


def test_a_commit_of_the_merge_queue_gets_checks_and_nothing_else() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    entries = len(story.store.read().events)
    tree = story.repository.merge_trees("main", pull.head)
    assert tree is not None
    group = story.repository.add_commit(
        story.repository.read_tree(tree),
        parents=(story.repository.commit("main").id, pull.head),
        message="group",
        time=story.port.now(),
    )
    outcome = publish_group(story.shell, commit=group)
    assert outcome.judged is not None
    assert len(outcome.judged.plan.moves) == 1
    assert statuses(story, group) == {"gitbot/plan": "success", "gitbot/policy": "success"}
    assert len(story.store.read().events) == entries
    assert len(story.forge.list_comments(pull.number)) == 1
    with pytest.raises(UsageError, match="not a commit on top of main"):
        publish_group(story.shell, commit="0" * 40)
    story.commit(**{"docs/note.txt": "a newer base\n"})
    with pytest.raises(UsageError, match="not a commit on top of main"):
        publish_group(story.shell, commit=group)


def test_a_comment_of_an_older_run_does_not_stay_below_a_newer_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    story.open(jump=REQUEST)
    upsert = story.forge.upsert_comment

    def slow(number: int, *, marker: str, body: str) -> Comment:
        monkeypatch.undo()
        story.commit("work", jump=EDITED)
        show(story)  # the run of the newer head comes first, this one says its own afterwards
        return upsert(number, marker=marker, body=body)

    monkeypatch.setattr(story.forge, "upsert_comment", slow)
    show(story)
    last = story.store.read().shown(1, cluster=CLUSTER)[-1]
    (comment,) = story.forge.list_comments(1)
    assert last.head == story.repository.commit("work").id
    assert last.digest in comment.body


def test_a_pull_request_that_closes_in_the_middle_does_not_end_the_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story)
    story.port.sleep(11 * 3600)
    get_pull = story.forge.get_pull

    def closed(number: int) -> PullRequest:
        return replace(get_pull(number), state=PullState.CLOSED)

    monkeypatch.setattr(story.forge, "get_pull", closed)
    with pytest.raises(UsageError):
        show(story, pull.number)
    assert refresh_pulls(story.shell, every=True) == ()


def test_a_pull_request_that_takes_too_long_to_plan_is_refused_and_the_next_is_planned() -> None:
    story = Story.begin()
    story.open(jump=REQUEST)
    ticks = itertools.count(0, PLANNING_TIMEOUT + 1)
    slow = replace(story.shell, seconds=lambda: next(ticks))
    outcome = publish(slow, number=1).check
    assert [item.code for item in outcome.findings] == ["check/too-slow"]
    assert outcome.judged is None
    quick = replace(story.shell, seconds=lambda: 0.0)
    assert publish(quick, number=1).check.judged is not None
