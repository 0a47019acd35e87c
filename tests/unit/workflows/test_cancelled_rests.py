"""What is approved of a request and not begun can be cancelled, though its moves have ended."""

from dataclasses import dataclass, field

import pytest

from gitbot.errors import UsageError
from gitbot.execution.executor_types import Maintenance, Terms
from gitbot.execution.request_records import fold_requests
from gitbot.model.ledger.events import ConcernChanged, ConcernState
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.text.instants import Interval
from gitbot.published import PlanDocument, PlanInputs, plan_bytes, plan_digest, plan_document
from gitbot.workflows.apply import apply, note_cancelled
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, TinyBase, a_plan
from tests.doubles.tiny_cluster import NOW
from tests.unit.workflows.test_cancelled_drains import (
    DRAIN,
    OCCURRENCE,
    finished,
    is_cordoned,
    states,
    uncordon,
)

ONE = RequestId.read("request/db/one")
HOUR = 3600


def approve_the_rest(stage: Stage, plan: PlacementPlan) -> str:
    """gitbot's own proposal, which no pass has taken up yet; returns the digest."""
    digest = plan_digest(plan, ())
    document = plan_document(plan, manifests=(), expires_at=NOW + 86_400, inputs=PlanInputs())
    event = ConcernChanged(
        file="concerns/prod/rest-1.jsonl",
        time=stage.clock.now(),
        cluster="prod",
        state=ConcernState.AUTO,
        digest=digest,
        commit=stage.repository.commit("main").id,
    )
    stage.store.append(stage.store.read(), (event,), {digest: plan_bytes(document)})
    return digest


def a_failed_request() -> Stage:
    stage = Stage.of(nodes={"a": "east", "b": "west", "c": "west"}, vms={"one": "a"})
    stage.cluster.fails = {"one"}
    stage.approve(a_plan(a_move("one", "a", "b", request=ONE)))
    apply(stage.shell)
    assert fold_requests(stage.store.read(), "prod")[ONE].finished
    stage.cluster.fails = set()
    return stage


def test_an_approved_rest_never_runs_after_a_cancel() -> None:
    stage = a_failed_request()
    approve_the_rest(stage, a_plan(a_move("one", "a", "c", request=ONE, number=2)))
    note_cancelled(stage.shell, request=ONE, reason="", by="ann")
    apply(stage.shell)
    assert stage.cluster.where() == {"one": "a"}


def test_without_a_rest_that_counts_it_is_finished() -> None:
    stage = a_failed_request()
    other = RequestId.read("request/db/other")
    approve_the_rest(stage, a_plan(a_move("one", "a", "c", request=other, number=2)))
    with pytest.raises(UsageError, match="is finished: failed"):
        note_cancelled(stage.shell, request=ONE, reason="", by="ann")


def test_a_void_rest_does_not_count() -> None:
    stage = Stage.of(nodes={"a": "east", "b": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "b", request=ONE)))
    apply(stage.shell, start=False)
    stage.base.terms_by_request[ONE] = Terms(void="its intent was edited")
    apply(stage.shell, start=False)
    approve_the_rest(stage, a_plan(a_move("one", "a", "b", request=ONE, number=2)))
    with pytest.raises(UsageError, match="is finished: withdrawn"):
        note_cancelled(stage.shell, request=ONE, reason="", by="ann")


@dataclass(frozen=True, kw_only=True)
class Drained(TinyBase):
    """A base branch whose plans drain the nodes that they are given."""

    nodes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def terms(self, request: str, plan: PlanDocument, *, now: int) -> Terms:
        del request, now
        return Terms(
            allowed=(Interval(start=NOW - 60, end=NOW + HOUR),),
            maintenance=Maintenance(
                occurrence=OCCURRENCE, nodes=self.nodes[plan.digest], cordon=True
            ),
        )


def a_later_node_to_come() -> Stage:
    """All moves of both plans have ended; c, which only the later plan has, waits for b."""
    homes = {"one": "a", "two": "b", "guest": "c"}
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "east", "d": "west"}, vms=homes)
    base = stage.base = Drained(revision=stage.base.revision)
    base.nodes[stage.approve(a_plan(a_move("one", "a", "d", request=DRAIN, group="a")))] = ("a",)
    apply(stage.shell)
    later = a_plan(a_move("two", "b", "d", request=DRAIN, group="b", number=2))
    base.nodes[approve_the_rest(stage, later)] = ("b", "c")
    uncordon(stage, "a")
    apply(stage.shell)
    assert states(stage) == {"a": "returned", "b": "ready"}
    del stage.cluster.instances["guest"]
    return stage


def test_no_node_of_a_later_plan_begins_after_a_cancel() -> None:
    stage = a_later_node_to_come()
    note_cancelled(stage.shell, request=DRAIN, reason="", by="ann")
    uncordon(stage, "b")
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "c")) == ({"a": "returned", "b": "returned"}, False)


def test_none_is_to_come_when_its_window_is_over() -> None:
    stage = a_later_node_to_come()
    stage.clock.present = NOW + HOUR
    finished(stage)
