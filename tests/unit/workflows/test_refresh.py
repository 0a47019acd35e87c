"""Open pull requests planned again: heads that cannot be fetched are said, and stop nobody."""

from dataclasses import replace

import pytest

from gitbot.errors import ForgeError, ForgeRefused, RepositoryError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.forge import CheckState, CommitStatus
from gitbot.workflows.apply import apply
from gitbot.workflows.check import publish, refresh_pulls
from gitbot.workflows.check.refresh import MAX_NOT_FETCHED
from gitbot.workflows.pulls.next_step import next_step
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import CLUSTER, Story


def withhold(
    story: Story, patch: pytest.MonkeyPatch, *heads: str, reason: str = "too large"
) -> list[str]:
    """Make heads unknown until somebody fetches them, which fails; what was asked for."""
    asked: list[str] = []
    resolve, fetch = story.repository.resolve, story.repository.fetch_commit

    def fetched(commit: str) -> None:
        asked.append(commit)
        if commit in heads:
            raise RepositoryError(reason)
        fetch(commit)

    patch.setattr(story.repository, "fetch_commit", fetched)
    patch.setattr(story.repository, "resolve", lambda rev: None if rev in heads else resolve(rev))
    return asked


def test_a_head_that_cannot_be_fetched_is_said_and_approves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(db=RULE)
    pull = story.open(jump=REQUEST)
    with monkeypatch.context() as patch:
        withhold(story, patch, pull.head)
        result = publish(story.shell, number=pull.number)
    assert [item.code for item in result.check.all_findings] == ["check/not-fetched"]
    (comment,) = story.forge.list_comments(pull.number)
    assert "could not be fetched: too large" in comment.body
    (status,) = story.forge.list_statuses(pull.head)
    assert (status.context, status.state) == ("gitbot/plan", CheckState.FAILURE)
    story.merge(pull.number)
    refused = apply(story.shell).approvals.refused
    assert "an error, not a plan" in refused[0].reason


def test_what_was_shown_before_is_approved_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.commit(db=RULE)
    withhold(story, monkeypatch, pull.head)
    (again,) = refresh_pulls(story.shell)
    assert again.wrote
    records = story.store.read().shown(pull.number, cluster=CLUSTER)
    assert [bool(record.digest) for record in records] == [True, False]


def test_an_error_is_said_when_it_is_found_and_not_again() -> None:
    story = Story.begin()
    said: list[str] = []
    shell = replace(story.shell, progress=lambda line: said.append(line.text))
    pull = story.open(jump=REQUEST.replace("jumpbox", "nobody"))
    for _ in range(3):
        refresh_pulls(shell, every=True)
    (line,) = [text for text in said if text.startswith(f"pull request {pull.number} has ")]
    assert line.startswith("pull request 1 has 1 error: intents/iberia/jump.yaml:")
    step = next_step(shell, pull)
    assert "next: mend the errors that `gitbot check --pull-request 1` shows, and push" in step


def test_others_are_planned_and_what_is_approved_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin(db=RULE)
    bad = story.open("bad", jump=REQUEST)
    good = story.open("good", again=REQUEST.replace("name: jump,", "name: again,"))
    publish(story.shell, number=good.number)
    story.merge(good.number)
    other = story.open("other", third=REQUEST.replace("name: jump,", "name: third,"))
    withhold(story, monkeypatch, bad.head)
    result = reconcile(story.shell, every_pull=True)
    assert [(item.pull.number, bool(item.digest)) for item in result.pulls] == [
        (bad.number, False),
        (other.number, True),
    ]
    assert [item.action for item in result.proposed.concerns] == ["opened"]
    assert result.applied.states == {"succeeded": 1}


def test_it_is_tried_again_within_the_hour_and_not_at_every_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    with monkeypatch.context() as patch:
        asked = withhold(story, patch, pull.head)
        refresh_pulls(story.shell, every=True)
        for seconds, tries in ((0, 1), (600, 1), (2400, 2), (600, 2)):
            story.port.sleep(seconds)
            refresh_pulls(story.shell, every=True)
            assert asked.count(pull.head) == tries
    story.port.sleep(3600)
    (result,) = refresh_pulls(story.shell)
    assert result.digest
    (comment,) = story.forge.list_comments(pull.number)
    assert result.digest in comment.body


def test_a_quiet_pass_reads_the_statuses_of_a_pull_request_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    publish(story.shell, number=story.open(jump=REQUEST).number)
    asked: list[str] = []
    read = story.forge.list_statuses

    def counted(commit: str) -> tuple[CommitStatus, ...]:
        asked.append(commit)
        return read(commit)

    monkeypatch.setattr(story.forge, "list_statuses", counted)
    assert refresh_pulls(story.shell) == ()
    assert len(asked) == 1


def test_a_pass_tries_a_few_in_vain_and_leaves_the_rest_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    pulls = [story.open(f"w{number}", **{f"r{number}": REQUEST}) for number in range(5)]
    own = story.open("own", last=REQUEST)
    asked = withhold(story, monkeypatch, *(pull.head for pull in pulls))
    first = refresh_pulls(story.shell, every=True)
    heads = [pull.head for pull in pulls]
    assert asked == [*heads[:MAX_NOT_FETCHED], own.head]
    assert first[-1].pull.number == own.number
    refresh_pulls(story.shell, every=True)
    assert asked == [*heads[:MAX_NOT_FETCHED], own.head, *heads[MAX_NOT_FETCHED:]]


@pytest.mark.parametrize("skew", [31, -31])
def test_nothing_is_shown_or_started_while_the_forge_tells_another_time(skew: int) -> None:
    """Records carry our time, reviews and merges the forge's: their order would be a guess."""
    story = Story.begin(db=RULE)
    shown = story.open(jump=REQUEST)
    publish(story.shell, number=shown.number)
    story.merge(shown.number)
    other = story.open("other", again=REQUEST.replace("name: jump,", "name: again,"))
    story.forge.clock_skew = skew
    result = reconcile(story.shell, every_pull=True)
    assert result.pulls == ()
    assert result.applied.created == 0
    assert result.applied.unsure
    assert result.applied.stop == "the forge's clock is 31 s away from ours (at most 30)"
    with pytest.raises(ForgeError, match="nothing is published: the forge's clock is 31 s"):
        publish(story.shell, number=other.number)
    assert story.store.read().shown(other.number, cluster=CLUSTER) == ()
    story.forge.clock_skew = skew - skew // abs(skew)
    again = reconcile(story.shell, every_pull=True)
    assert [item.pull.number for item in again.pulls] == [other.number]
    assert again.applied.states == {"succeeded": 1}


def test_the_record_names_the_base_that_was_planned_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody pushes while it is being planned."""
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    planned = story.repository.commit("main").id
    snapshot = story.port.snapshot

    def slow() -> ClusterSnapshot:
        monkeypatch.undo()
        story.commit(db=RULE)
        return snapshot()

    monkeypatch.setattr(story.port, "snapshot", slow)
    publish(story.shell, number=pull.number)
    (record,) = story.store.read().shown(pull.number, cluster=CLUSTER)
    assert record.shown.base == planned != story.repository.commit("main").id
    (again,) = refresh_pulls(story.shell)
    assert again.wrote


def test_a_pull_request_that_takes_no_comment_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of an author who has blocked gitbot's account."""
    story = Story.begin(db=RULE)
    approved = story.open(jump=REQUEST)
    publish(story.shell, number=approved.number)
    story.merge(approved.number)
    blocked = story.open("blocked", again=REQUEST.replace("name: jump,", "name: again,"))
    other = story.open("other", third=REQUEST.replace("name: jump,", "name: third,"))
    say = story.forge.upsert_comment

    def said(number: int, *, marker: str, body: str) -> object:
        if number == blocked.number:
            raise ForgeRefused("GitHub refused: user is blocked")
        return say(number, marker=marker, body=body)

    monkeypatch.setattr(story.forge, "upsert_comment", said)
    result = reconcile(story.shell, every_pull=True)
    assert [(item.pull.number, item.unread) for item in result.pulls] == [
        (blocked.number, "GitHub refused: user is blocked"),
        (other.number, ""),
    ]
    assert result.unsure
    assert result.applied.states == {"succeeded": 1}
    assert [item.action for item in result.proposed.concerns] == ["opened"]
    assert story.forge.list_statuses(blocked.head) == ()


def test_a_pull_request_that_goes_elsewhere_since_it_was_listed_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    gone = story.open("gone", jump=REQUEST)
    other = story.open("other", again=REQUEST.replace("name: jump,", "name: again,"))
    listed = story.forge.list_pulls()
    story.forge.retarget_pull(gone.number, base_branch="dev")
    monkeypatch.setattr(story.forge, "list_pulls", lambda **_: listed)
    found = refresh_pulls(story.shell, every=True)
    assert [item.pull.number for item in found] == [other.number]
