"""Only owners make a request run: each case on the local forge and on GitHub."""

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gitbot.cli.shared.status_page import table
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.ports.forge import MergeMethod, PullState
from gitbot.simulation.building import namespace
from gitbot.simulation.scenes import jumpbox_machine
from gitbot.workflows.ask import repository_checks, status
from gitbot.workflows.propose import propose
from tests.doubles.intents import HEAD
from tests.unit.workflows.tenants import AWAY, FILE, KINDS, NAMED, OWNERS, TEAM, Tenants, tenants


@pytest.fixture(params=KINDS)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tenants]:
    with tenants(request.param, tmp_path) as made:
        yield made


Scenes = Callable[..., AbstractContextManager[Tenants]]


@pytest.fixture(params=KINDS)
def scene_of(request: pytest.FixtureRequest, tmp_path: Path) -> Scenes:
    return partial(tenants, request.param, tmp_path)


def asked(scene: Tenants, author: str, text: str = AWAY) -> int:
    return scene.open(author, {FILE: text}).number


def moved(scene: Tenants) -> bool:
    return bool(scene.apply().states.get("succeeded"))


def test_an_author_who_owns_nothing_waits_for_an_owner(scene: Tenants) -> None:
    number = asked(scene, "mallory")
    scene.merge(number)
    start = scene.where()
    (waits,) = scene.apply().waiting
    assert waits.reason.startswith("waits for the approval of @acme/customapp (ann, dora)")
    assert scene.where() == start
    assert (
        "waits for the approval of @acme/customapp (ann, dora)"
        in scene.check(number, "gitbot/apply")[1]
    )
    scene.approve(number, "dora")  # later: it runs with the next pass
    assert moved(scene)
    assert scene.where() != start


def test_an_owner_who_is_the_author_consents(scene: Tenants) -> None:
    scene.merge(asked(scene, "ann"))
    assert moved(scene)


def test_a_push_of_another_account_needs_another_consent(scene: Tenants) -> None:
    """An author who is an owner consents to what they pushed, not to what follows."""
    number = asked(scene, "ann")
    scene.commit("work", {FILE: NAMED.replace("kni-worker5", "kni-worker6")})
    scene.pushed("bob")
    scene.publish(number)
    if scene.kind == "local":
        return  # its pushes have no account
    assert "@acme/customapp (ann, dora)" in scene.check(number, "gitbot/owners")[1]
    scene.merge(number)
    assert not moved(scene)
    scene.approve(number, "dora")
    scene.approve(number, "olga")
    assert moved(scene)


def test_a_named_node_needs_its_own_owner(scene: Tenants) -> None:
    number = asked(scene, "ann", NAMED)
    scene.merge(number)
    assert not moved(scene)
    assert "@acme/platform (olga) for node kni-worker5" in scene.check(number, "gitbot/apply")[1]
    scene.approve(number, "olga")
    assert moved(scene)


def test_the_owners_check_of_a_merged_pull_request_follows_later_approvals(scene: Tenants) -> None:
    number = asked(scene, "mallory", NAMED)
    scene.merge(number)
    assert not moved(scene)
    scene.approve(number, "dora")
    assert not moved(scene)
    waits = "waits for the approval of @acme/platform (olga) for node kni-worker5"
    assert scene.check(number, "gitbot/owners") == ("pending", waits)
    scene.approve(number, "olga")
    assert moved(scene)
    assert scene.check(number, "gitbot/owners") == ("success", "owners approved")


def test_an_approval_before_the_merge_suffices(scene: Tenants) -> None:
    number = asked(scene, "mallory", NAMED)
    scene.approve(number, "dora")
    scene.approve(number, "olga")
    scene.merge(number)
    assert moved(scene)


def test_a_team_that_vanished_approves_nothing_and_is_named(scene: Tenants) -> None:
    number = asked(scene, "mallory")
    scene.approve(number, "dora")
    scene.team(TEAM)
    scene.merge(number)
    assert not moved(scene)
    assert "no such team" in scene.check(number, "gitbot/apply")[1]


@pytest.mark.parametrize("bot", ["gitbot", "renovate[bot]"])
def test_an_approval_by_a_bot_is_none(scene: Tenants, bot: str) -> None:
    """Not gitbot's own, though a team names it, nor that of an App with the right to write."""
    scene.team(TEAM, "ann", "dora", "gitbot", bot)
    number = asked(scene, "mallory")
    scene.approve(number, bot)
    scene.merge(number)
    assert not moved(scene)
    scene.approve(number, "ann")
    assert moved(scene)


def test_a_dismissed_review_is_none(scene: Tenants) -> None:
    number = asked(scene, "mallory")
    scene.approve(number, "dora")
    scene.dismiss(number, "dora")
    scene.merge(number)
    assert not moved(scene)


def test_an_approval_of_an_older_head_is_none(scene: Tenants) -> None:
    number = asked(scene, "mallory")
    old = scene.forge.get_pull(number).head
    scene.approve(number, "dora", head=old)
    scene.commit("work", {FILE: f"{AWAY}  note: other\n"})
    scene.publish(number)
    scene.merge(number)
    assert not moved(scene)


def test_an_approval_of_who_may_only_read_is_none(scene: Tenants) -> None:
    number = asked(scene, "mallory")
    scene.demote("dora")
    scene.approve(number, "dora")
    scene.merge(number)
    assert not moved(scene)


def test_a_pull_request_cannot_name_its_own_owners(scene: Tenants) -> None:
    config = scene.repository.read_blob("main", ".gitbot.yaml")
    assert config is not None
    mine = config.decode().replace(TEAM, "@mallory")
    number = scene.open("mallory", {FILE: AWAY, ".gitbot.yaml": mine}).number
    scene.merge(number)
    assert not moved(scene)
    scene.approve(number, "dora")
    assert moved(scene)


def test_a_proposal_cannot_name_its_own_owners(scene: Tenants) -> None:
    """Somebody puts a commit below gitbot's own, and merges both by rebase."""
    scene.commit("main", {FILE: AWAY})
    propose(scene.shell)
    (pull,) = scene.forge.list_pulls(state=PullState.OPEN)
    scene.repository.fetch()
    path = "intents/iberia/gitbot/request-customapp-jump.yaml"
    config = scene.repository.read_blob("main", ".gitbot.yaml")
    proposal = scene.repository.read_blob(pull.head, path)
    assert config is not None
    assert proposal is not None
    scene.repository.delete_branch(pull.branch, expected=pull.head)
    scene.commit(pull.branch, {".gitbot.yaml": config.decode().replace(TEAM, "@mallory")})
    scene.commit(pull.branch, {path: proposal.decode()})
    scene.approve(pull.number, "mallory")
    scene.merge(pull.number, method=MergeMethod.REBASE)
    assert not moved(scene)


@pytest.mark.parametrize("kind", KINDS)
def test_merging_an_intent_does_not_stand_in_for_its_owner(kind: str, tmp_path: Path) -> None:
    """With approval: Intent gitbot approves plans by itself, but for those that owners must."""
    with tenants(kind, tmp_path, owners=f"{OWNERS}  approval: Intent\n") as scene:
        scene.commit("main", {FILE: AWAY})
        start = scene.where()
        propose(scene.shell)
        assert not moved(scene)
        (pull,) = scene.forge.list_pulls(state=PullState.OPEN)
        scene.merge(pull.number)
        assert not moved(scene)
        assert scene.where() == start
        scene.approve(pull.number, "dora")
        assert moved(scene)


def test_what_waits_for_owners_is_not_proposed_again(scene: Tenants) -> None:
    scene.merge(asked(scene, "mallory"))
    scene.apply()
    propose(scene.shell)
    assert scene.forge.list_pulls(state=PullState.OPEN) == ()


def test_an_open_pull_request_says_whose_approval_is_missing(scene: Tenants) -> None:
    number = asked(scene, "mallory", NAMED)
    state, words = scene.check(number, "gitbot/owners")
    assert state == "pending"
    assert words.startswith("waits for the approval of ")
    for missing in ("(ann, dora) for namespace customapp", "(olga) for node kni-worker5"):
        assert missing in words
        assert f"{missing}\n" in scene.comment(number)
    scene.approve(number, "dora")
    scene.refresh()  # the next pass sees the review
    assert "**owner's approval**: namespace customapp by dora\n" in scene.comment(number)
    assert scene.check(number, "gitbot/owners") == (
        "pending",
        "waits for the approval of @acme/platform (olga) for node kni-worker5",
    )
    scene.approve(number, "olga")
    scene.refresh()
    assert scene.check(number, "gitbot/owners") == ("success", "owners approved")
    assert "missing" not in scene.comment(number)
    scene.dismiss(number, "olga")
    scene.refresh()
    assert scene.check(number, "gitbot/owners")[0] == "pending"
    assert "(olga) for node kni-worker5\n" in scene.comment(number)


def test_a_proposal_of_gitbot_says_it_as_well(scene: Tenants) -> None:
    scene.commit("main", {FILE: AWAY})
    propose(scene.shell)
    (pull,) = scene.forge.list_pulls(state=PullState.OPEN)
    assert scene.check(pull.number, "gitbot/owners")[0] == "pending"
    assert "missing: " in scene.comment(pull.number)
    scene.approve(pull.number, "dora")
    propose(scene.shell)
    assert scene.check(pull.number, "gitbot/owners") == ("success", "owners approved")
    assert "namespace customapp by dora" in scene.comment(pull.number)
    scene.merge(pull.number)
    assert moved(scene)


def test_status_names_who_can_give_what_is_missing(scene: Tenants) -> None:
    number = asked(scene, "mallory")
    scene.merge(number)
    page = table(status(scene.shell))
    assert (
        "Waiting for owners:\nrequest/customapp/jump: waits for the approval of @acme/customapp "
        f"(ann, dora) for namespace customapp; next: gitbot approve {number}"
    ) in page
    assert "not applied yet" not in page


def test_a_fork_chooses_no_owner_and_its_author_is_none(scene: Tenants) -> None:
    """zoe may only read, and names herself in a fork; on the local forge in a clone of hers."""
    config = scene.repository.read_blob("main", ".gitbot.yaml")
    assert config is not None
    mine = config.decode().replace(TEAM, "@zoe")
    number = scene.fork("zoe", "work", {FILE: AWAY, ".gitbot.yaml": mine})
    scene.publish(number)
    assert "@acme/customapp (ann, dora)" in scene.check(number, "gitbot/owners")[1]
    scene.merge(number)
    assert not moved(scene)
    scene.approve(number, "dora")
    assert moved(scene)


def test_an_owner_without_the_right_to_write_is_none(scene_of: Scenes) -> None:
    """Named in the protected base, but the forge says that the account may only read."""
    owners = OWNERS.replace(TEAM, "@zoe")
    with scene_of(owners=owners) as scene:
        number = scene.fork("zoe", "work", {FILE: AWAY})
        scene.publish(number)
        scene.merge(number)
        assert not moved(scene)


def machine(name: str, namespace: str, size: str) -> KubernetesObject:
    made: dict[str, Any] = copy.deepcopy(jumpbox_machine())
    made["metadata"] |= {"name": name, "namespace": namespace}
    made["spec"]["template"]["spec"]["domain"] |= {
        "memory": {"guest": size},
        "resources": {"requests": {"memory": size}},
    }
    return made


def test_no_vm_of_another_folder_steps_aside_where_nobody_can_approve_it(scene_of: Scenes) -> None:
    """Folders are bound to namespaces, and no owner has teams."""
    owners = """  owners:
  - {paths: [intents/iberia], namespaces: ['*']}
  - {paths: [intents/iberia/customapp], namespaces: [customapp]}
"""
    with scene_of(owners=owners) as scene:
        cluster = scene.port.cluster
        nodes = {name_of(node).name for node in cluster.list("Node")}
        for made, only in (
            (machine("pay", "payments", "40Gi"), "kni-worker5"),
            (machine("big", "customapp", "30Gi"), "kni-worker4"),
        ):
            for node in nodes:
                cluster.cordon(node, unschedulable=node != only)
            cluster.apply([namespace("payments"), made])
            cluster.settle()
        for node in nodes:
            cluster.cordon(node, unschedulable=False)
        number = asked(scene, "ann", NAMED.replace("[jumpbox]", "[big]"))
        assert "payments/pay" in scene.comment(number)
        assert "missing: an owner (none is named) for namespace payments" in scene.comment(number)
        scene.merge(number)
        assert not moved(scene)


CODEOWNERS = "* @olga\n/intents/iberia/customapp/ @dora\n"


def test_codeowners_name_those_of_an_entry_without_teams(scene_of: Scenes) -> None:
    owners = OWNERS.replace(f"    teams: ['{TEAM}']\n", "")
    with scene_of(owners=owners, **{".github/CODEOWNERS": CODEOWNERS}) as scene:
        number = asked(scene, "mallory")
        assert scene.check(number, "gitbot/owners")[1] == (
            "waits for the approval of @dora for namespace customapp"
        )
        scene.approve(number, "olga")
        scene.merge(number)
        assert not moved(scene)
        scene.approve(number, "dora")
        assert moved(scene)


def test_a_drain_asks_the_owners_of_its_nodes(scene_of: Scenes) -> None:
    window = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [kni-worker]}}
  drain: {{notMigratable: LeaveRunning}}
"""
    owners = f"{OWNERS}  - nodes: {{matchLabels: {{kubernetes.io/hostname: kni-worker}}}}\n"
    owners += "    teams: ['@dora']\n"
    with scene_of(owners=owners) as scene:
        scene.commit("main", {"intents/iberia/firmware.yaml": window})
        propose(scene.shell)
        (pull,) = scene.forge.list_pulls(state=PullState.OPEN)
        assert scene.check(pull.number, "gitbot/owners")[1] == (
            "waits for the approval of @dora for node kni-worker"
        )
        scene.merge(pull.number)
        scene.approve(pull.number, "olga")
        assert not moved(scene)
        scene.approve(pull.number, "dora")
        assert moved(scene)


def test_doctor_names_a_team_that_vanished(scene: Tenants) -> None:
    def found() -> dict[str, str]:
        checks = repository_checks(scene.shell, rehearse=lambda: None)
        return {check.name: f"{check.outcome} {check.message}" for check in checks}

    teams = "the teams of owners are known: @acme/customapp, @acme/platform"
    assert found()["forge/owners"] == f"pass {teams}"
    scene.team(TEAM)
    scene.port.sleep(61)
    assert found()["forge/owners"].startswith("fail @acme/customapp: there is no such team")
