"""One migration is Pending, and its window closes in two minutes."""

from gitbot.execution.executor_types import Terms
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import Interval
from gitbot.workflows.apply import apply
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import NOW


def pending() -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a", "two": "a"})
    stage.cluster.stuck = {"one"}
    allowed = (Interval(start=NOW, end=NOW + 120),)
    stage.base.terms_by_request["request/db/one"] = Terms(allowed=allowed)
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell, max_runtime=7)
    assert stage.states()[-1] == "1 created"
    return stage


def merge_another(stage: Stage, name: str = "two") -> None:
    """Another request is merged: its VM of the same name may go to c."""
    later = a_move(name, "a", "c", request=RequestId.read(f"request/db/{name}"))
    stage.approve(a_plan(later), branch=name)
