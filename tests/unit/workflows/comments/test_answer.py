"""Answers to comments: who is obeyed, what is done once, what is said."""

from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from gitbot.errors import ForgeError
from gitbot.execution.ledger_folds import stop_flag
from gitbot.execution.request_records import fold_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import NodeChanged, NodeFacts, NodeState
from gitbot.model.ledger.ledger import node_file
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.published import CommandOutcome, PublishedComment, encoded, published, schema_of
from gitbot.workflows.apply import apply
from gitbot.workflows.check import publish
from gitbot.workflows.comments import CommentResult, Texts, answer
from gitbot.workflows.comments.answer import MAX_AGE
from tests.doubles.intents import REQUEST
from tests.unit.workflows.story import CLUSTER, Story


def explained(snapshot: ClusterSnapshot, vm: NamespacedName) -> str:
    return f"{vm} among {len(snapshot.of('Node'))} nodes ``` @all"


TEXTS = Texts(status=lambda result: f"{len(result.requests)} requests", explain=explained)


def say(story: Story, body: str, *, by: str = "ann", number: int = 1) -> int:
    """Somebody comments; the id of the comment."""
    before = story.forge.account
    story.forge.account = by
    comment = story.forge.upsert_comment(number, marker=body, body=body)
    story.forge.account = before
    return comment.id


def obey(story: Story, comment: int, number: int = 1) -> CommentResult:
    return answer((story.shell,), number=number, comment=comment, texts=TEXTS)


def told(story: Story, body: str, *, by: str = "ann") -> CommentResult:
    return obey(story, say(story, body, by=by))


def answers(story: Story) -> list[str]:
    return [item.body for item in story.forge.list_comments(1) if item.author == "gitbot"]


def opened() -> Story:
    story = Story.begin()
    story.open(jump=REQUEST)
    return story


def merged() -> Story:
    story = opened()
    publish(story.shell, number=1)
    story.merge(1)
    return story


def test_plan_publishes_the_plan_and_says_so() -> None:
    story = opened()
    result = told(story, "/gitbot plan")
    assert (result.outcome, result.start_pass) == (CommandOutcome.DONE, False)
    assert "planned again: 1 move" in result.text
    assert [status.context for status in story.forge.list_statuses(story.forge.get_pull(1).head)]
    assert "nothing changed" in told(story, "/gitbot plan\nonce more").text


def test_the_same_event_twice_is_answered_once() -> None:
    story = opened()
    comment = say(story, "/gitbot hold")
    assert obey(story, comment).outcome is CommandOutcome.DONE
    writes = story.writes()
    assert obey(story, comment).outcome is CommandOutcome.IGNORED
    assert story.writes() == writes


@pytest.mark.parametrize(
    ("body", "by"),
    [("looks good", "ann"), ("/gitbot hold", "gitbot"), ("gitbot is fine", "ann")],
)
def test_what_is_not_for_gitbot_is_left_alone(body: str, by: str) -> None:
    story = opened()
    comment = say(story, body, by=by)
    writes = story.writes()
    assert obey(story, comment).outcome is CommandOutcome.IGNORED
    assert story.writes() == writes


def test_who_may_not_write_is_told_once_and_not_obeyed() -> None:
    story = opened()
    story.forge.readers.add("eve")
    for body in ("/gitbot hold", "/gitbot resume", "/gitbot nonsense"):
        result = told(story, body, by="eve")
        assert result.outcome is CommandOutcome.REFUSED
        assert "needs the right to write" in result.text
    assert not stop_flag(story.store.read(), CLUSTER)
    assert len(answers(story)) == 1


def test_an_unknown_verb_is_answered_once() -> None:
    story = opened()
    for body in ("/gitbot dance", "/gitbot sing"):
        assert told(story, body).outcome is CommandOutcome.MISUNDERSTOOD
    (text,) = answers(story)
    assert "there is no such command" in text
    assert "`/gitbot hold [WHY]`" in text


def test_an_old_comment_and_an_edited_one_are_no_orders() -> None:
    story = opened()
    comment = say(story, "/gitbot hold")
    story.cluster.advance(MAX_AGE + 60)
    assert "more than a day old" in obey(story, comment).text
    fresh = say(story, "/gitbot resume")
    known = story.forge._comments[1]
    known[-1] = replace(known[-1], edited=known[-1].time + 5)
    assert "an edited comment" in obey(story, fresh).text
    assert not stop_flag(story.store.read(), CLUSTER)


def test_hold_and_resume_set_the_flag_in_the_ledger() -> None:
    story = opened()
    assert told(story, "/gitbot hold", by="bob").outcome is CommandOutcome.DONE
    (stop,) = story.store.read().stops(CLUSTER)
    assert (stop.author, stop.reason) == ("bob", "comment on 1")
    story.cluster.advance(1)
    result = told(story, "/gitbot resume")
    assert result.start_pass
    assert not stop_flag(story.store.read(), CLUSTER)


def test_the_why_of_a_hold_is_kept() -> None:
    story = opened()
    told(story, "/gitbot hold the storage is slow\nmore later", by="bob")
    (stop,) = story.store.read().stops(CLUSTER)
    assert (stop.author, stop.reason) == ("bob", "the storage is slow (comment on 1)")


def test_a_resume_said_before_the_flag_was_set_does_not_take_it_away() -> None:
    story = opened()
    comment = say(story, "/gitbot resume")
    story.cluster.advance(60)
    told(story, "/gitbot hold", by="bob")
    result = obey(story, comment)
    assert result.outcome is CommandOutcome.FAILED
    assert "was set again" in result.text
    assert stop_flag(story.store.read(), CLUSTER)


def test_apply_starts_a_pass_only_after_the_merge() -> None:
    story = opened()
    result = told(story, "/gitbot apply")
    assert (result.start_pass, "merge first" in result.text) == (False, True)
    again = merged()
    assert told(again, "/gitbot apply").start_pass
    closed = opened()
    closed.forge.close_pull(1)
    result = told(closed, "/gitbot apply")
    assert (result.start_pass, "closed without a merge" in result.text) == (False, True)


def test_cancel_ends_a_request_in_the_next_pass() -> None:
    story = merged()
    told(story, "/gitbot hold")
    apply(story.shell)
    result = told(story, "/gitbot cancel request/customapp/jump")
    assert (result.outcome, result.start_pass) == (CommandOutcome.DONE, True)
    apply(story.shell)
    record = fold_requests(story.store.read(), CLUSTER)[RequestId.read("request/customapp/jump")]
    assert str(record.state) == "withdrawn"
    assert "not done" in told(story, "/gitbot cancel request/customapp/nobody").text


def test_status_and_explain_are_shown_as_plain_text() -> None:
    story = opened()
    assert "```text\n0 requests\n```" in told(story, "/gitbot status").text
    text = told(story, "/gitbot explain customapp/jumpbox").text
    assert "````text\ncustomapp/jumpbox among" in text


def test_a_node_that_nobody_waits_for_is_said() -> None:
    story = opened()
    result = told(story, "/gitbot returned kni-worker5")
    assert result.outcome is CommandOutcome.FAILED
    assert "no maintenance has kni-worker5 in state ready" in result.text


def away(story: Story, occurrence: str) -> None:
    """A node is ready in a maintenance that begins now."""
    story.port.sleep(60)
    place = OccurrenceId(window="firmware", id=occurrence)
    event = NodeChanged(
        file=node_file(CLUSTER, place),
        time=story.port.now(),
        cluster=CLUSTER,
        state=NodeState.READY,
        request=place.drain,
        facts=NodeFacts(node="kni-worker5"),
    )
    story.store.append(story.store.read(), (event,), {})
    story.port.sleep(60)


def test_a_node_that_went_again_is_not_back_by_the_word_of_the_time_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = opened()
    away(story, "o1")
    comment = say(story, "/gitbot returned kni-worker5")

    def die(*_: object, **__: object) -> None:
        raise ForgeError("no requests are left")

    with monkeypatch.context() as patch:
        patch.setattr(story.forge, "upsert_comment", die)
        with pytest.raises(ForgeError):
            obey(story, comment)
    away(story, "o2")
    result = obey(story, comment)  # the job that failed is run again
    assert result.outcome is CommandOutcome.FAILED
    assert "after this was said" in result.text
    assert told(story, "/gitbot returned kni-worker5\nonce more").outcome is CommandOutcome.DONE


def test_another_cluster_is_named() -> None:
    story = opened()
    assert "there is no cluster" in told(story, "/gitbot plan --cluster nowhere").text


def test_help_lists_every_verb() -> None:
    story = opened()
    text = told(story, "/gitbot help").text
    for word in ("plan", "status", "explain", "hold", "resume", "cancel", "apply", "returned"):
        assert f"`/gitbot {word}" in text


def test_what_is_printed_fits_its_schema() -> None:
    story = opened()
    for body in ("/gitbot apply", "/gitbot dance", "nothing"):
        document = encoded(published(told(story, body), PublishedComment))
        assert not list(Draft202012Validator(schema_of("CommentResult")).iter_errors(document))
