"""Finished is finished, whatever is renamed, moved, copied or restored: nothing fires again."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from gitbot.errors import ClusterError, ClusterForbidden, ConflictError, LedgerError, UsageError
from gitbot.execution.cluster_facts import LEDGER
from gitbot.model.ledger.events import ClusterIdentified
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.ports.ledger import LedgerCounts
from gitbot.workflows.apply import apply, resume
from gitbot.workflows.ask import status, verified
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.ledger.adopt import adopt
from gitbot.workflows.ledger.anchor import known_name, missing_branch
from gitbot.workflows.ledger.guarded_store import GuardedLedgerStore
from gitbot.workflows.watch import reconcile
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

OLD, NEW = "old.git", "new.git"


@dataclass
class World:
    """A stage whose one request has run, and what its repository and cluster are called."""

    stage: Stage
    repository: str = OLD
    cluster: str = "prod"
    others: tuple[str, ...] = field(default=())

    @classmethod
    def begin(cls, *, vms: tuple[str, ...] = ("one",)) -> "World":
        stage = Stage.of(nodes={"a": "east", "c": "west"}, vms=dict.fromkeys(vms, "a"))
        stage.approve(a_plan(a_move("one", "a", "c")))
        world = cls(stage=stage)
        assert apply(world.shell).states == {"succeeded": 1}
        return world

    @property
    def shell(self) -> RunContext:
        return replace(
            self.stage.shell,
            ledger_name=self.repository,
            cluster_name=self.cluster,
            clusters=(self.cluster, *self.others),
        )

    def forget_migrations(self) -> None:
        self.stage.cluster.instances["one"]["status"] = {"nodeName": "a", "phase": "Running"}
        self.stage.cluster.migrations.clear()

    def creates(self) -> int:
        return len(self.stage.cluster.creates())


def rename(world: World) -> None:
    world.cluster = "produccion"


def move(world: World) -> None:
    world.repository = NEW


def fork(world: World) -> None:
    """A copy without its ledger, in which the request is merged once more."""
    world.repository = NEW
    world.stage.store = MemoryLedgerStore()
    world.stage.forge._checks.clear()
    world.stage.approve(a_plan(a_move("one", "a", "c")), branch="again")


def restore(world: World) -> None:
    """The ledger of last week."""
    ledger, world.stage.store = world.stage.store.read(), MemoryLedgerStore()
    world.stage.store.append(Ledger(), ledger.events[:1], ledger.plans)  # type: ignore[arg-type]


def lose_namespace(world: World) -> None:
    world.stage.cluster.anchors.clear()


HAPPENINGS = [
    (rename,),
    (move,),
    (fork,),
    (restore,),
    (rename, move),
    (rename, fork),
    (rename, restore),
    (rename, lose_namespace),
    (move, restore),
    (move, lose_namespace),
    (restore, lose_namespace),
    (lose_namespace,),
]


@pytest.mark.parametrize(
    "happens", HAPPENINGS, ids=lambda happens: "+".join(item.__name__ for item in happens)
)
def test_a_finished_request_never_fires_again(happens: tuple[Callable[[World], None], ...]) -> None:
    world = World.begin()
    world.forget_migrations()
    for happening in happens:
        happening(world)
    result = apply(world.shell)
    assert world.creates() == 1
    silent = {(lose_namespace,), (move, lose_namespace)}  # the ledger is whole, nothing is new
    assert bool(result.stop) is (happens not in silent)
    if result.stop:
        assert result.unsure
        assert status(world.shell).healthy is False
    assert apply(world.shell).stop == result.stop, "until a person accepts it"
    assert world.creates() == 1


def lose_right(world: World) -> None:
    """The cluster never had an anchor: gitbot may not write one."""
    world.stage.cluster.trouble = no_right_to_the_anchor
    world.stage.cluster.anchors.clear()


def lose_forge_anchor(world: World) -> None:
    world.stage.forge._checks.clear()


UNANCHORED = [
    (fork, lose_namespace),
    (fork, lose_right),
    (rename, fork, lose_namespace),
    (rename, fork, lose_right),
    (restore, lose_namespace, lose_forge_anchor),
    (restore, lose_right, lose_forge_anchor),
    (move, restore, lose_namespace, lose_forge_anchor),
    (move, restore, lose_right, lose_forge_anchor),
    (rename, move, restore, lose_namespace, lose_forge_anchor),
]


@pytest.mark.parametrize(
    "happens", UNANCHORED, ids=lambda happens: "+".join(item.__name__ for item in happens)
)
def test_migrations_remember_what_ran_where_no_anchor_does(
    happens: tuple[Callable[[World], None], ...],
) -> None:
    world = World.begin()
    world.stage.cluster.instances["one"]["status"] = {"nodeName": "a", "phase": "Running"}
    for happening in happens:
        happening(world)
    result = apply(world.shell)
    assert (result.unsure, world.creates()) == (True, 1)
    assert "db/gitbot-one-" in result.stop
    assert status(world.shell).stop == result.stop
    with pytest.raises(LedgerError, match="db/gitbot-one-"):
        verified(world.shell)
    assert reconcile(world.shell).applied.stop == result.stop
    assert apply(world.shell).stop == result.stop, "until a person accepts it"
    assert world.creates() == 1


@pytest.mark.parametrize("loses", [lose_namespace, lose_right])
def test_a_ledger_that_starts_over_is_adopted_once(loses: Callable[[World], None]) -> None:
    world = World.begin()
    fork(world)
    loses(world)
    still = apply(world.shell).standstill
    assert still is not None
    assert still.next_command == "gitbot ledger adopt"
    assert adopt(world.shell).lines == 0
    assert apply(world.shell).stop == ""
    with pytest.raises(UsageError, match="nothing to adopt"):
        adopt(world.shell)


@pytest.mark.parametrize("happens", [(rename, restore), (move, restore)])
def test_a_new_name_does_not_accept_that_lines_are_missing(
    happens: tuple[Callable[[World], None], ...],
) -> None:
    world = World.begin()
    world.forget_migrations()
    for happening in happens:
        happening(world)
    anchors = dict(world.stage.cluster.anchors)
    with pytest.raises(LedgerError, match="resume --accept-ledger"):
        adopt(world.shell)
    assert world.stage.cluster.anchors == anchors
    assert apply(world.shell).unsure
    assert world.creates() == 1
    resume(world.shell, reason="", by="ana", accept_ledger=True)
    assert any("lines 2 to" in line for line in world.stage.lines)
    adopt(world.shell)
    assert apply(world.shell).stop == ""


@pytest.mark.parametrize("loses", [lose_namespace, lose_right])
def test_a_ledger_that_went_back_without_an_anchor_is_accepted_once(
    loses: Callable[[World], None],
) -> None:
    world = World.begin()
    for happening in (restore, loses, lose_forge_anchor):
        happening(world)
    assert "gitbot resume --accept-ledger" in apply(world.shell).stop
    resume(world.shell, reason="", by="ana", accept_ledger=True)
    assert any("no line names migration db/gitbot-one-" in line for line in world.stage.lines)
    assert apply(world.shell).stop == ""
    (noted,) = (it for it in world.stage.store.read().events if isinstance(it, ClusterIdentified))
    assert noted.author == "ana"


def test_what_a_live_copy_creates_stops_the_other_one() -> None:
    """A copy with its ledger, whose cluster has no anchor: each sees what the other one creates."""
    world = World.begin(vms=("one", "two"))
    lose_right(world)
    first, before = world.stage.store, world.stage.store.read()
    copy = MemoryLedgerStore()
    copy.append(Ledger(), before.events, before.plans)  # type: ignore[arg-type]
    world.stage.store = copy
    request = RequestId.read("request/db/two")
    move = a_move("two", "a", "c", request=request, group=request)
    world.stage.approve(a_plan(move), branch="again")
    assert apply(world.shell).states == {"succeeded": 1}
    world.stage.store = first
    lose_forge_anchor(world)
    assert "a copy of this repository is at work" in apply(world.shell).stop


def test_no_ledger_begins_beside_migrations() -> None:
    world = World.begin()
    lines = world.stage.store.read().events
    fork(world)
    lose_namespace(world)
    guarded = GuardedLedgerStore(
        store=MemoryLedgerStore(), missing=lambda: missing_branch(world.shell)
    )
    with pytest.raises(LedgerError, match="the ledger has no line about prod"):
        guarded.append(Ledger(), lines[:1], {})  # type: ignore[arg-type]


def test_a_branch_that_another_process_has_just_made_is_a_lost_race() -> None:
    world = World.begin()
    lines = world.stage.store.read().events
    guarded = GuardedLedgerStore(
        store=world.stage.store, missing=lambda: missing_branch(world.shell)
    )
    with pytest.raises(ConflictError):
        guarded.append(Ledger(), lines[:1], {})  # type: ignore[arg-type]
    assert guarded.counts == LedgerCounts(lost_races=1)
    again = lines[-1].replace(seq=0, previous="")
    grown = guarded.append(guarded.read(), (again,), {})  # type: ignore[arg-type]
    assert guarded.append(grown, (), {}) == grown
    assert guarded.counts == LedgerCounts(appends=1, lost_races=1)


def test_what_another_gitbot_created_stops_no_ledger_with_lines() -> None:
    world = World.begin()
    lose_right(world)
    (migration,) = world.stage.cluster.migrations.values()
    migration["metadata"]["annotations"][LEDGER] = "another"
    migration["metadata"]["name"] = "gitbot-of-another"
    assert apply(world.shell).stop == ""


@pytest.mark.parametrize("happens", [(rename,), (move,), (rename, move), (rename, lose_namespace)])
def test_an_adopted_ledger_goes_on(happens: tuple[Callable[[World], None], ...]) -> None:
    world = World.begin()
    for happening in happens:
        happening(world)
    world.forget_migrations()
    still = apply(world.shell).standstill
    assert still is not None
    assert still.next_command == "gitbot ledger adopt"
    adopt(world.shell)
    assert apply(world.shell).stop == ""
    assert world.creates() == 1
    with pytest.raises(UsageError, match="nothing to adopt"):
        adopt(world.shell)


def test_a_renamed_cluster_keeps_its_finished_requests_and_back() -> None:
    world = World.begin()
    rename(world)
    done = adopt(world.shell)
    assert (done.former, done.lines > 0) == ("prod", True)
    (request,) = (item.record for item in status(world.shell).requests)
    assert (request.id, request.state) == ("request/db/one", "succeeded")
    world.cluster = "prod"
    assert "calls the cluster prod" in apply(world.shell).stop
    assert adopt(world.shell).lines == 0
    assert apply(world.shell).stop == ""


def test_the_copy_at_the_former_address_stops() -> None:
    world = World.begin()
    move(world)
    assert adopt(world.shell).repositories == (OLD,)
    assert apply(world.shell).stop == ""
    world.repository = OLD
    assert "the ledger was adopted by new.git" in apply(world.shell).stop


def test_a_second_repository_is_accepted_once() -> None:
    world = World.begin()
    other = Stage.of(nodes={"a": "east", "c": "west"}, vms={"two": "a"})
    other.approve(a_plan(a_move("two", "a", "c")))
    other.cluster.anchors = world.stage.cluster.anchors
    second = World(stage=other, repository=NEW)
    assert "the cluster knows another ledger (old.git)" in apply(second.shell).stop
    assert adopt(second.shell).repositories == ()
    assert apply(second.shell).states == {"succeeded": 1}
    assert apply(world.shell).stop == ""


def test_no_ledger_begins_beside_an_anchor() -> None:
    world = World.begin()
    lines = world.stage.store.read().events
    for repository in (OLD, NEW):
        world.repository = repository
        store = MemoryLedgerStore()
        guarded = GuardedLedgerStore(store=store, missing=lambda: missing_branch(world.shell))
        with pytest.raises(LedgerError):
            guarded.append(guarded.read(), lines[:1], {})  # type: ignore[arg-type]
        assert store.read() == Ledger()


def test_a_cluster_that_is_new_beside_one_that_is_gone_is_said_to_be_new() -> None:
    world = World.begin()
    rename(world)
    world.stage.cluster.anchors.clear()
    assert "the ledger has requests of prod" in apply(world.shell).stop
    assert adopt(world.shell, as_new=True).lines == 0
    assert apply(world.shell).stop == ""


def test_a_second_cluster_of_the_configuration_is_no_rename() -> None:
    world = World.begin()
    rename(world)
    world.others = ("prod",)
    world.stage.cluster.anchors.clear()
    world.stage.cluster.uid = "uid-of-produccion"
    world.stage.cluster.migrations.clear()
    assert apply(world.shell).stop == ""


def exchange_contexts(world: World) -> None:
    """The context of prod leads to west, the other cluster of the configuration."""
    world.others = ("west",)
    world.stage.cluster.uid = "uid-of-west"
    if world.stage.cluster.anchors:
        world.stage.cluster.anchors |= {f"{OLD}.cluster": "west", f"{OLD}.uid": "uid-of-west"}


def rebuild(world: World) -> None:
    """Another cluster behind the same name, with VMs of the same names."""
    world.stage.cluster.uid = "uid-of-the-new-one"
    world.stage.cluster.anchors.clear()


def name_twice(world: World) -> None:
    """Two names of the configuration mean one cluster."""
    world.cluster, world.others = "second", ("prod",)


def waiting(*, anchored: bool) -> World:
    """An approved request that waits for its time, on a cluster with or without an anchor."""
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    if not anchored:
        stage.cluster.trouble = no_right_to_the_anchor
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.cluster.flag = "not yet"
    world = World(stage=stage)
    assert apply(world.shell).stop == apply(world.shell).stop == "not yet"
    stage.cluster.flag = None
    return world


def no_right_to_the_anchor(verb: str, what: str) -> None:
    del what
    if verb in ("anchor", "set-anchor"):
        raise ClusterForbidden("configmaps is forbidden")


@pytest.mark.parametrize("anchored", [True, False], ids=["anchored", "without-anchor"])
@pytest.mark.parametrize(
    "happens",
    [
        (rename,),
        (exchange_contexts,),
        (rebuild,),
        (name_twice,),
        (move, exchange_contexts),
        (move, rebuild),
        (lose_namespace, exchange_contexts),
        (lose_namespace, rebuild),
        (lose_namespace, name_twice),
    ],
    ids=lambda happens: "+".join(item.__name__ for item in happens),
)
def test_nothing_fires_on_a_cluster_that_is_not_the_ledgers(
    happens: tuple[Callable[[World], None], ...], anchored: bool
) -> None:
    world = waiting(anchored=anchored)
    for happening in happens:
        happening(world)
    result = apply(world.shell)
    assert (result.unsure, world.creates()) == (True, 0)
    assert result.standstill is not None
    assert result.standstill.next_command == "gitbot ledger adopt"
    assert status(world.shell).healthy is False
    assert apply(world.shell).stop == result.stop, "until a person accepts it"
    assert world.creates() == 0


@pytest.mark.parametrize("anchored", [True, False], ids=["anchored", "without-anchor"])
def test_a_replaced_cluster_goes_on_once_a_person_accepts_it(anchored: bool) -> None:
    world = waiting(anchored=anchored)
    rebuild(world)
    assert "another cluster than the prod of the ledger" in apply(world.shell).stop
    assert adopt(world.shell).lines == 0
    assert apply(world.shell).states == {"succeeded": 1}
    with pytest.raises(UsageError, match="nothing to adopt"):
        adopt(world.shell)


@pytest.mark.parametrize("anchored", [True, False], ids=["anchored", "without-anchor"])
def test_exchanged_contexts_go_on_once_they_are_mended(anchored: bool) -> None:
    world = waiting(anchored=anchored)
    cluster = world.stage.cluster
    before = cluster.uid, dict(cluster.anchors)
    exchange_contexts(world)
    assert apply(world.shell).unsure
    cluster.uid, cluster.anchors = before
    assert apply(world.shell).states == {"succeeded": 1}


def test_a_name_that_the_configuration_still_has_is_not_taken_for_a_former_one() -> None:
    world = waiting(anchored=False)
    name_twice(world)
    assert "the ledger calls this cluster prod" in apply(world.shell).stop
    with pytest.raises(UsageError, match="may have been any of prod"):
        adopt(world.shell)
    assert adopt(world.shell, former="prod").lines > 0
    assert apply(world.shell).stop == ""
    world.cluster, world.others = "prod", ("second",)
    assert "the ledger calls this cluster second" in apply(world.shell).stop


def test_an_older_ledger_learns_its_cluster_once_and_stops_nothing() -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.cluster.uid = ""
    stage.approve(a_plan(a_move("one", "a", "c")))
    world = World(stage=stage)
    assert apply(world.shell).states == {"succeeded": 1}
    stage.cluster.uid = "uid-of-prod"
    for _ in range(2):
        assert apply(world.shell).stop == ""
        noted = [it for it in stage.store.read().events if isinstance(it, ClusterIdentified)]
        assert [(it.cluster, it.uid) for it in noted] == [("prod", "uid-of-prod")]
    assert stage.cluster.anchors[f"{OLD}.uid"] == "uid-of-prod"


def test_a_cluster_that_does_not_say_which_it_is_gets_nothing() -> None:
    def no_right(verb: str, what: str) -> None:
        del what
        if verb == "uid":
            raise ClusterForbidden("not allowed to list namespaces", hint="grant it")

    world = waiting(anchored=True)
    world.stage.cluster.trouble = no_right
    result = apply(world.shell)
    assert (result.unsure, world.creates()) == (True, 0)
    assert "whether this is the ledger's cluster: not allowed to list namespaces" in result.stop
    with pytest.raises(ClusterError, match="not allowed to list namespaces"):
        adopt(world.shell)


def test_requests_under_both_names_are_not_mixed() -> None:
    world = World.begin()
    rename(world)
    adopt(world.shell)
    for cluster in ("prod", "produccion"):
        ledger = world.stage.store.read()
        last = ledger.of(f"requests/{cluster}/")[-1]
        note = f"written as {cluster}"
        world.stage.store.append(ledger, (last.replace(seq=0, previous="", note=note),), {})  # type: ignore[arg-type]
    world.cluster = "prod"
    with pytest.raises(UsageError, match="request/db/one is under both names"):
        adopt(world.shell)


def test_a_cluster_without_an_anchor_finds_its_name_in_the_ledger() -> None:
    world = waiting(anchored=False)
    assert known_name(world.stage.cluster, OLD, world.stage.store) == "prod"
    world.stage.cluster.uid = "uid-of-west"
    assert known_name(world.stage.cluster, OLD, world.stage.store) == ""
