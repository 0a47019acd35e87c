"""What one effect does to the cluster, to the ledger and to what people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gitbot.errors import (
    ClusterError,
    ClusterForbidden,
    ClusterRefused,
    NotSent,
    OutcomeUnknown,
)
from gitbot.execution.claims import FENCE, TOO_LATE, with_claims
from gitbot.execution.executor_types import (
    FORBIDDEN,
    REFUSED,
    STORED_DIFFERENTLY,
    STORED_OTHERWISE,
    CreateMigration,
    DeleteMigration,
    Effect,
    LabelNode,
    SetUnschedulable,
)
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.admission import IN_FLIGHT
from gitbot.model.ledger.events import (
    KnownEvent,
    MoveApproved,
    MoveChanged,
    MoveState,
    UnknownEvent,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.workflows.apply.effects import cordon, perform_effect, report_moves, with_last_event
from gitbot.workflows.apply.held_claims import HeldClaims
from gitbot.workflows.core.context import Progress, RunContext
from tests.doubles.stage import Stage, TinyBase
from tests.doubles.tiny_cluster import NOW
from tests.unit.execution.scene import World, move

REQUEST = RequestId.read("request/db/one")
TOLD = "db/one: a -> c"


@dataclass
class Scene:
    """One announced creation, its ticket, and what people were told."""

    stage: Stage
    effect: CreateMigration
    tickets: HeldClaims
    ledger: Ledger
    told: list[Progress] = field(default_factory=list)

    @classmethod
    def of(cls) -> Scene:
        world = World.of("a", "c", one="a")
        world.approve(move("one", "a", "c"))
        world.step()
        steps = with_claims(world.last, NOW)
        (effect,) = steps.effects
        assert isinstance(effect, CreateMigration)
        ledger = Ledger(events=steps.events)
        stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
        scene = cls(stage=stage, effect=effect, tickets=HeldClaims(), ledger=ledger)
        scene.tickets.hold(scene.shell, steps.effects, began=NOW)
        return scene

    @property
    def shell(self) -> RunContext:
        return replace(self.stage.shell, progress=self.told.append)

    @property
    def name(self) -> str:
        return self.effect.event.migration.partition("/")[2]

    def answers(self, error: ClusterError | None, *, after: bool = False) -> None:
        """The next create is answered so, before or after it was stored."""

        def trouble(verb: str, _: str) -> None:
            if error is not None and verb == ("created" if after else "create"):
                raise error

        self.stage.cluster.trouble = trouble

    def do(self, effect: Effect | None = None) -> tuple[MoveChanged, ...]:
        ledger = self.stage.store.read()
        return perform_effect(
            self.shell, self.stage.base, effect or self.effect, self.tickets, ledger
        )

    def lines(self) -> list[tuple[Any, str, str, str]]:
        return [(item.request, item.vm, item.state, item.text) for item in self.told]


@pytest.fixture
def scene() -> Scene:
    return Scene.of()


def refused(code: int, message: str = "no") -> ClusterRefused:
    return ClusterRefused(message, code=code)


def of_move(event: MoveChanged) -> tuple[str, str, str]:
    return str(event.state), event.outcome, event.reason


def test_a_creation_is_recorded_with_its_uid_and_told(scene: Scene) -> None:
    (event,) = scene.do()
    assert of_move(event) == ("created", "", "")
    assert (event.migration_uid, event.claim) == ("vmim-1", None)
    assert scene.lines() == [(REQUEST, "db/one", "created", f"{TOLD} created")]
    assert scene.tickets.unsent == frozenset()


def test_a_migration_that_is_stored_otherwise_is_recorded_and_told_as_such(scene: Scene) -> None:
    real = scene.stage.cluster._store
    scene.stage.cluster._store = lambda *_: real(scene.name, "one", {"a": "b"}, {})  # type: ignore[method-assign]
    (event,) = scene.do()
    assert of_move(event) == ("created", STORED_DIFFERENTLY, STORED_OTHERWISE)
    assert scene.lines()[0][3] == f"{TOLD} {STORED_OTHERWISE}"


@pytest.mark.parametrize(
    ("error", "recorded", "told"),
    [
        (refused(409, "busy"), ("waiting", REFUSED, "busy"), f"{TOLD} waits: busy"),
        (refused(422, "wrong"), ("failed", REFUSED, "wrong"), f"{TOLD} refused: wrong"),
        (refused(400, f"{IN_FLIGHT}. x"), None, f"db/one waits: {IN_FLIGHT}. x"),
        (refused(400, "in-flight"), ("failed", REFUSED, "in-flight"), f"{TOLD} refused: in-flight"),
        (OutcomeUnknown("lost"), None, "db/one: lost"),
    ],
)
def test_what_a_refusal_means(
    scene: Scene, error: ClusterError, recorded: tuple[str, str, str] | None, told: str
) -> None:
    scene.answers(error)
    assert [of_move(event) for event in scene.do()] == ([recorded] if recorded else [])
    state = recorded[0] if recorded else ""
    assert scene.lines() == [(REQUEST, "db/one" if recorded else "", state, told)]


@pytest.mark.parametrize(
    ("error", "unsent"), [(refused(422), True), (OutcomeUnknown("lost"), False)]
)
def test_only_a_refusal_says_that_nothing_is_on_its_way(
    scene: Scene, error: ClusterError, unsent: bool
) -> None:
    scene.answers(error)
    scene.do()
    assert bool(scene.tickets.unsent) is unsent


def test_our_own_migration_behind_a_lost_answer_is_recorded_as_created(scene: Scene) -> None:
    scene.stage.cluster.lost_answers = 1
    assert [of_move(event) for event in scene.do()] == [("created", "", "")]


@pytest.mark.parametrize("error", [None, refused(422)])
def test_somebody_elses_migration_of_our_name_is_neither_ours_nor_an_end(
    scene: Scene, error: ClusterError | None
) -> None:
    scene.stage.cluster._store(scene.name, "two", {}, {})
    scene.answers(error)
    (event,) = scene.do()
    reason = f"a migration named db/{scene.name} is not gitbot's"
    assert of_move(event) == ("waiting", REFUSED, reason)


def test_behind_somebody_elses_migration_of_our_name_ours_may_still_come(scene: Scene) -> None:
    scene.stage.cluster._store(scene.name, "two", {}, {})
    scene.answers(OutcomeUnknown("lost"))
    assert scene.do() == ()


@pytest.mark.parametrize(
    ("now", "error"),
    [
        (NOW, NotSent("no connection")),
        (NOW, ClusterError("no answer")),
    ],
)
def test_other_trouble_stops_the_pass_with_nothing_on_its_way(
    scene: Scene, now: int, error: ClusterError
) -> None:
    def trouble(verb: str, _: str) -> None:
        if verb == "create":
            scene.stage.clock.present = now
            raise error

    scene.stage.cluster.trouble = trouble
    with pytest.raises(type(error)):
        scene.do()
    assert scene.tickets.unsent
    assert scene.told == []


def test_a_missing_right_makes_the_move_wait_by_itself(scene: Scene) -> None:
    def trouble(verb: str, _: str) -> None:
        if verb == "create":
            raise ClusterForbidden("no right", hint="grant it")

    scene.stage.cluster.trouble = trouble
    (event,) = scene.do()
    assert (event.state, event.outcome) == (MoveState.WAITING, FORBIDDEN)
    assert event.reason == "no right; grant it"
    assert scene.tickets.unsent


def test_a_refusal_that_comes_late_is_a_refusal(scene: Scene) -> None:
    def trouble(verb: str, _: str) -> None:
        if verb == "create":
            scene.stage.clock.present = NOW + FENCE.send
            raise refused(422)

    scene.stage.cluster.trouble = trouble
    assert [event.state for event in scene.do()] == [MoveState.FAILED]


def test_what_is_too_late_is_not_sent_and_told(scene: Scene) -> None:
    scene.stage.clock.present = NOW + FENCE.send
    assert scene.do() == ()
    assert scene.lines() == [(REQUEST, "", "", f"db/one is not moved: {TOO_LATE}")]
    assert scene.stage.cluster.calls == []


class Misnamed(TinyBase):
    def manifest(self, effect: CreateMigration) -> KubernetesObject:
        made = super().manifest(effect)
        return {**made, "metadata": {**made["metadata"], "name": "other"}}


def test_a_manifest_of_another_name_is_never_sent(scene: Scene) -> None:
    scene.stage.base = Misnamed.of(scene.stage.base.settings)
    with pytest.raises(ClusterRefused, match="BUG: the manifest is named db/other") as found:
        scene.do()
    assert found.value.code == 0, "no server said it"
    assert scene.stage.cluster.calls == []


@pytest.mark.parametrize(
    ("effect", "call", "told"),
    [
        (LabelNode(node="a", labels={}), ("label", "a"), []),
        (
            DeleteMigration(request=REQUEST, name="db/m", uid="u", reason="stuck"),
            ("delete", "m"),
            [(REQUEST, "db/m withdrawn: stuck")],
        ),
    ],
)
def test_what_else_is_done_is_told(
    scene: Scene, effect: Effect, call: tuple[str, str], told: list[tuple[RequestId, str]]
) -> None:
    assert scene.do(effect) == ()
    assert scene.stage.cluster.calls == [call]
    assert [(item.request, item.text) for item in scene.told] == told


@pytest.mark.parametrize(
    ("unschedulable", "theirs", "done", "told"),
    [
        (True, False, ["cordoned"], "a cordoned"),
        (False, False, ["uncordoned"], "a uncordoned"),
        (False, True, [], "a stays cordoned: somebody else did it"),
    ],
)
def test_a_cordon_is_told_as_it_is(
    scene: Scene, unschedulable: bool, theirs: bool, done: list[str], told: str
) -> None:
    scene.stage.cluster.cordoned_by_others |= {"a"} if theirs else set()
    effect = SetUnschedulable(request=REQUEST, node="a", unschedulable=unschedulable, labels={})
    assert [(item.node, item.did) for item in cordon(scene.shell, effect)] == [
        ("a", did) for did in done
    ]
    assert scene.stage.cluster.calls == [("cordon" if unschedulable else "uncordon", "a")]
    assert [(item.request, item.text) for item in scene.told] == [(REQUEST, told)]


@pytest.mark.parametrize("error", [ClusterForbidden("no"), refused(403), refused(404)])
def test_labels_that_are_refused_are_told_and_stop_nothing(
    scene: Scene, error: ClusterError
) -> None:
    """For want of the right, by a webhook, or because the node is gone."""

    def trouble(*_: str) -> None:
        raise error

    scene.stage.cluster.trouble = trouble
    assert scene.do(LabelNode(node="a", labels={})) == ()
    assert [item.text for item in scene.told] == ["a is not labelled: no"]


def test_moves_are_told_but_not_that_they_are_announced(scene: Scene) -> None:
    event = scene.effect.event
    approved = next(item for item in scene.ledger.events if isinstance(item, MoveApproved))
    changed = event.replace(state=MoveState.SUCCEEDED, landed="d", reason="elsewhere")
    plain = event.replace(state=MoveState.RUNNING)
    others = [
        item for item in scene.ledger.events if not isinstance(item, MoveApproved | UnknownEvent)
    ]
    events: tuple[KnownEvent, ...] = (approved, *others, changed, plain)
    report_moves(scene.shell, events)
    assert scene.lines() == [
        (REQUEST, "db/one", "approved", f"{TOLD} approved"),
        (REQUEST, "db/one", "succeeded", "db/one: a -> d succeeded: elsewhere"),
        (REQUEST, "db/one", "running", f"{TOLD} running"),
    ]


OWN = {"source": {"component": "gitbot"}}


def warns(*messages: str, of: str = "Warning") -> list[dict[str, str]]:
    return [{"type": of, "message": message} for message in messages]


@pytest.mark.parametrize(
    ("state", "fields", "seen", "note"),
    [
        (MoveState.FAILED, {}, warns("first", "last"), "last"),
        (MoveState.FAILED, {}, [*warns("first"), *warns("fine", of="Normal")], "first"),
        (MoveState.FAILED, {}, warns("x" * 600), f"{'x' * 499}…"),
        (MoveState.FAILED, {}, [*warns("theirs"), {**OWN, **warns("own")[0]}], "theirs"),
        (MoveState.FAILED, {}, [], ""),
        (MoveState.FAILED, {"migration": ""}, warns("first"), ""),
        (MoveState.FAILED, {"note": "known"}, warns("first"), "known"),
        (MoveState.SUCCEEDED, {}, warns("first"), ""),
    ],
)
def test_a_failed_move_gets_the_newest_warning(
    scene: Scene,
    state: MoveState,
    fields: dict[str, str],
    seen: Sequence[KubernetesObject],
    note: str,
) -> None:
    scene.stage.cluster.list_events = lambda _: tuple(seen)  # type: ignore[assignment]
    event = scene.effect.event.replace(state=state, **fields)
    assert with_last_event(scene.shell, event) == event.replace(note=note)


def test_of_an_approval_no_events_are_read(scene: Scene) -> None:
    approved = next(item for item in scene.ledger.events if isinstance(item, MoveApproved))
    assert with_last_event(scene.shell, approved) is approved
