"""While the base branch has errors nothing starts, and what has begun is observed and recalled."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from gitbot.errors import InvalidInput, RepositoryError
from gitbot.execution.cluster_facts import is_own
from gitbot.workflows.apply import apply, cancel
from gitbot.workflows.ask import write_dashboard
from gitbot.workflows.check import publish
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.watch import reconcile, watch
from tests.doubles.intents import REQUEST
from tests.doubles.stage import Stage
from tests.faults.pending import merge_another, pending
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_apply import rewrite

ERROR = "intents/prod/x.yaml:1:1: no YAML"


@pytest.fixture
def stage() -> Stage:
    return pending()


def broken(stage: Stage) -> RunContext:
    """A merge brings a file with an error."""
    merge_another(stage)
    head = stage.repository.resolve("main")

    def read(commit: str) -> RevisionEngine:
        if commit == head:
            raise InvalidInput(ERROR)
        return stage.base.at(commit)

    return replace(stage.shell, read_base=read)


@pytest.mark.parametrize("run", [apply, reconcile])
def test_what_is_pending_is_recalled_when_its_window_closes(
    stage: Stage, run: Callable[[RunContext], object]
) -> None:
    shell = broken(stage)
    stage.clock.sleep(200)
    with pytest.raises(InvalidInput, match="no YAML"):
        run(shell)
    assert stage.cluster.migrations == {}
    assert stage.states()[-1] == "1 expired"


@pytest.mark.parametrize("run", [apply, reconcile])
def test_what_is_pending_is_recalled_though_the_base_was_rewritten(
    stage: Stage, run: Callable[[RunContext], object]
) -> None:
    rewrite(stage)
    stage.clock.sleep(200)
    with pytest.raises(RepositoryError, match="somebody rewrote it"):
        run(stage.shell)
    assert stage.cluster.migrations == {}
    assert stage.states()[-1] == "1 expired"


def test_what_runs_is_seen_to_its_end_though_the_base_was_rewritten(stage: Stage) -> None:
    merge_another(stage)
    rewrite(stage)
    stage.cluster.stuck = set()
    with pytest.raises(RepositoryError, match="somebody rewrote it"):
        apply(stage.shell)
    assert stage.states()[-1] == "1 succeeded"
    assert len(stage.cluster.creates()) == 1


def test_what_is_cancelled_ends(stage: Stage) -> None:
    result = cancel(broken(stage), request="request/db/one", reason="", by="ann")
    assert stage.cluster.migrations == {}
    assert str(result.record.state) == "withdrawn"


def test_nothing_starts_and_what_runs_is_seen_to_its_end(stage: Stage) -> None:
    stage.cluster.stuck = set()
    with pytest.raises(InvalidInput, match="no YAML"):
        apply(broken(stage), on_report=write_dashboard)
    assert stage.states()[-1] == "1 succeeded"
    assert len(stage.cluster.creates()) == 1
    assert "**Stopped**: main has errors: intents/prod/x.yaml" in stage.forge.issues[0].body


def test_a_base_that_breaks_in_mid_pass_lets_nothing_more_start(stage: Stage) -> None:
    """Between the decision and the request, too."""
    bad: list[str] = []

    def read(commit: str) -> RevisionEngine:
        if commit in bad:
            raise InvalidInput(ERROR)
        return stage.base.at(commit)

    merge_another(stage)

    def merged(_: object) -> None:
        stage.store.after_append = lambda _: None
        merge_another(stage, "three")
        bad.append(stage.repository.resolve("main") or "")

    stage.store.after_append = merged
    with pytest.raises(InvalidInput, match="no YAML"):
        apply(replace(stage.shell, read_base=read), max_runtime=60)
    assert len(stage.cluster.creates()) == 1


def test_without_any_commit_that_can_be_read_nothing_happens(stage: Stage) -> None:
    def read(_: str) -> RevisionEngine:
        raise InvalidInput(ERROR)

    stage.clock.sleep(200)
    before = list(stage.cluster.calls)
    with pytest.raises(InvalidInput, match="no YAML"):
        apply(replace(stage.shell, read_base=read))
    assert stage.cluster.calls == before


def own(story: Story) -> list[str]:
    found = story.cluster.list("VirtualMachineInstanceMigration")
    return [item["spec"]["vmiName"] for item in found if is_own(item)]


def test_a_file_with_an_error_stops_what_has_not_begun_and_no_cancel() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.merge(pull.number)
    story.commit(other="kind: [")
    with pytest.raises(InvalidInput, match=r"other\.yaml"):
        apply(story.shell)
    assert own(story) == []
    story.commit(other=None)
    apply(story.shell, max_runtime=1)
    assert len(own(story)) == 1
    story.commit(other="kind: [")
    result = cancel(story.shell, request="request/customapp/jump", reason="", by="ann")
    assert result.record.finished
    assert own(story) == []


def test_a_watch_recalls_what_is_pending_though_it_begins_on_a_broken_base(stage: Stage) -> None:
    shell = broken(stage)
    stage.clock.sleep(200)
    troubles: list[str] = []
    watch(
        lambda: nullcontext(shell),
        clock=stage.clock,
        interrupted=lambda: bool(troubles),
        every=300,
        on_pass=lambda _: None,
        on_trouble=lambda error, _: troubles.append(str(error)),
    )
    assert troubles == [ERROR]
    assert stage.cluster.migrations == {}
    assert stage.states()[-1] == "1 expired"
