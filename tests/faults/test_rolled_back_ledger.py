"""A ledger branch that was rolled back or deleted between two processes: nothing fires again."""

import re
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from gitbot.adapters.git import ledger_name
from gitbot.errors import ClusterError, ClusterForbidden, ForgeError
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import CheckRun
from gitbot.workflows.apply import apply, cancel, hold, resume
from gitbot.workflows.ledger.adopt import adopt
from gitbot.workflows.ledger.anchor import CONTEXT, LOOK_BACK, WITHOUT, anchor_of, rollback_reason
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import no_trouble


def a_stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    return stage


def rolled_back(stage: Stage, kept: int) -> None:
    """Somebody restores the branch with its first lines, and a new process starts."""
    ledger = stage.store.read()
    stage.store = MemoryLedgerStore()
    stage.store.append(Ledger(), (), ledger.plans)
    stage.store.append(stage.store.read(), ledger.events[:kept], {})  # type: ignore[arg-type]
    stage.cluster.instances["one"]["status"] = {"nodeName": "a", "phase": "Running"}
    stage.cluster.migrations.clear()


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_finished_request_does_not_fire_again(kept: int) -> None:
    stage = a_stage()
    assert apply(stage.shell).states == {"succeeded": 1}
    rolled_back(stage, kept)
    result = apply(stage.shell)
    assert "the ledger is not the one that gitbot wrote" in result.stop
    assert result.unsure, "exit code 2"
    assert result.doubts_ledger
    assert len(stage.cluster.creates()) == 1
    assert result.did_nothing
    assert apply(stage.shell).stop == result.stop, "the anchor stays"


def test_a_person_accepts_the_ledger_as_it_is() -> None:
    stage = a_stage()
    apply(stage.shell)
    rolled_back(stage, 1)
    resume(stage.shell, reason="no", by="ann")
    assert apply(stage.shell).stop, "an ordinary resume does not accept it"
    resume(stage.shell, reason="restored by hand", by="ann", accept_ledger=True)
    assert apply(stage.shell).stop == ""


def test_what_is_accepted_is_said_line_by_line() -> None:
    stage = a_stage()
    apply(stage.shell)
    lines, migrations = stage.store.read().events, dict(stage.cluster.migrations)
    rolled_back(stage, 2)
    stage.cluster.migrations |= migrations
    resume(stage.shell, reason="restored", by="ann", accept_ledger=True)
    (name,) = migrations
    said = [line for line in stage.lines if line.startswith("accepted: ")]
    assert said == [
        f"accepted: lines 3 to {len(lines)} are missing, as the cluster knows",
        f"accepted: lines 3 to {len(lines)} are missing, as the forge knows",
        f"accepted: no line names migration db/{name} of request/db/one",
    ]


def test_a_ledger_that_only_grew_is_the_same() -> None:
    stage = a_stage()
    apply(stage.shell)
    anchor = stage.cluster.anchors["ledger"]
    assert stage.cluster.anchors["ledger.cluster"] == "prod"
    ledger = stage.store.read()
    assert rollback_reason(ledger, anchor) == ""
    assert "it ends at line 0" in rollback_reason(Ledger(), anchor)
    last = ledger.events[-1]
    other = ledger.replace(events=(*ledger.events[:-1], msgspec.structs.replace(last, time=1)))
    assert "it has another line there" in rollback_reason(other, anchor_of(ledger))
    assert "damaged" in rollback_reason(ledger, "what")


def test_another_repository_on_the_same_cluster_has_its_own_anchor() -> None:
    one, two = a_stage(), a_stage()
    assert apply(replace(one.shell, ledger_name="one")).states == {"succeeded": 1}
    two.cluster.anchors = one.cluster.anchors
    adopt(replace(two.shell, ledger_name="two"))
    assert apply(replace(two.shell, ledger_name="two")).stop == ""
    assert sorted(two.cluster.anchors) == ["one", "one.cluster", "two", "two.cluster", "two.uid"]
    rolled_back(two, 1)
    assert apply(replace(two.shell, ledger_name="two")).stop


def test_a_ledgers_name_is_a_key_of_a_config_map_and_keeps_no_secret() -> None:
    names = {
        ledger_name(address)
        for address in (
            "https://x:token@github.com/acme/placement.git",
            "https://github.com/acme/placement.git",
            "https://github.com/acme/placement",
        )
    }
    (name,) = names
    assert re.fullmatch(r"placement\.[0-9a-f]{12}", name)
    assert name != ledger_name("https://github.com/other/placement")
    assert re.fullmatch("[-._a-zA-Z0-9]{1,253}", ledger_name("/srv/git/" + "ü b" * 200))


def test_without_the_right_there_is_no_anchor_and_apply_says_so() -> None:
    stage = a_stage()
    stage.cluster.trouble = no_right
    assert apply(stage.shell).states == {"succeeded": 1}
    assert WITHOUT in stage.lines


def no_right(verb: str, _: str) -> None:
    if "anchor" in verb:
        raise ClusterForbidden("no", hint="grant it")


def no_namespace(verb: str, _: str) -> None:
    if verb == "set-anchor":
        raise ClusterError("there is no namespace gitbot for the ledger's anchor")


@pytest.mark.parametrize("trouble", [no_right, no_namespace])
@pytest.mark.parametrize("merges", [0, LOOK_BACK - 1])
@pytest.mark.parametrize("kept", [0, 2])
def test_the_forge_knows_the_ledger_where_the_cluster_does_not(
    kept: int, merges: int, trouble: Callable[[str, str], None]
) -> None:
    stage = a_stage()
    stage.cluster.trouble = trouble
    assert apply(stage.shell).states == {"succeeded": 1}
    rolled_back(stage, kept)
    for number in range(merges):  # since the last pass
        stage.repository.write_commit(
            branch="main",
            expected=stage.repository.resolve("main"),
            files={"notes": str(number).encode()},
            message="more",
            time=stage.clock.now(),
        )
    result = apply(stage.shell)
    assert "the forge knows its line" in result.stop
    assert result.unsure
    assert len(stage.cluster.creates()) == 1
    assert apply(stage.shell).stop == result.stop, "what the forge knows stays"
    resume(stage.shell, reason="restored by hand", by="ann", accept_ledger=True)
    assert apply(stage.shell).stop == ""


def test_a_new_base_commit_has_the_anchor_after_a_pass_that_did_nothing() -> None:
    stage = a_stage()
    apply(stage.shell)
    base = stage.repository.resolve("main")
    new = stage.repository.write_commit(
        branch="main", expected=base, files={"notes": b""}, message="more", time=0
    )
    assert apply(stage.shell).did_nothing
    (status,) = stage.forge.list_statuses(new)
    assert (status.context, status.description) == (CONTEXT, anchor_of(stage.store.read()))


def test_a_forge_that_takes_no_anchor_stops_nothing() -> None:
    stage = a_stage()

    def refuse(commit: str, check: CheckRun) -> bool:
        raise ForgeError(f"no check {check.name}")

    stage.forge.set_check = refuse  # type: ignore[method-assign]
    assert apply(stage.shell).states == {"succeeded": 1}
    assert any("not anchored on the forge: no check" in line for line in stage.lines)


def test_an_anchor_that_cannot_be_read_stops() -> None:
    stage = a_stage()

    def trouble(verb: str, _: str) -> None:
        if verb == "anchor":
            raise ClusterError("no route")

    stage.cluster.trouble = trouble
    result = apply(stage.shell)
    assert result.unsure
    assert stage.cluster.creates() == []


def test_a_cancel_whose_pass_failed_is_not_forgotten() -> None:
    """The pass of the command wrote nothing; the next one begins with what it finds."""
    stage = a_stage()
    hold(stage.shell, reason="wait", by="ann")
    apply(stage.shell)
    resume(stage.shell, reason="go", by="ann")

    def trouble(verb: str, _: str) -> None:
        if verb == "snapshot":
            raise ClusterError("no route")

    stage.cluster.trouble = trouble
    cancel(stage.shell, request="request/db/one", reason="no", by="ann")
    stage.cluster.trouble = no_trouble
    rolled_back(stage, len(stage.store.read().events) - 1)
    assert "the ledger is not the one that gitbot wrote" in apply(stage.shell).stop
    assert stage.cluster.creates() == []
