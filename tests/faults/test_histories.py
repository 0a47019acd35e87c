"""Histories of Git and forge that a careless bot would act on: nobody approved them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gitbot.adapters.git.process import Git
from gitbot.adapters.git.writing import commit_tree
from gitbot.constraints.replay import replay
from gitbot.errors import RepositoryError
from gitbot.ports.forge import MergeMethod
from gitbot.simulation.scenes import customapp
from gitbot.workflows.apply import apply
from gitbot.workflows.hold import hold, resume
from gitbot.workflows.propose import propose
from gitbot.workflows.publish import publish
from tests.scenarios.loop import Loop
from tests.unit.workflows.story import CLUSTER, REQUEST, RULE, Story, configuration

Edit = Callable[[Story, str], str]


def show(story: Story, number: int) -> str:
    """`gitbot check --pull-request N --publish`; the digest that it showed."""
    return publish(story.shell, number=number, replay=replay).digest


def later_expiry(_: Story, text: str) -> str:
    return re.sub(r"expiresAt: \S+", 'expiresAt: "2030-01-01T00:00:00Z"', text)


def another_digest(story: Story, text: str) -> str:
    """That of a plan which gitbot showed for something else."""
    shown = show(story, story.open(jump=REQUEST).number)
    return re.sub(r"digest: \S+", f"digest: {shown}", text)


def another_target(_: Story, text: str) -> str:
    """The digest stays, so that a reviewer reads other moves than would run."""
    return text.replace("kni-worker2", "kni-worker3")


@pytest.mark.parametrize("edit", [later_expiry, another_digest, another_target])
def test_a_proposal_file_that_a_person_edited_approves_nothing(edit: Edit) -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    path = f"intents/{CLUSTER}/gitbot/{pull.branch.rpartition('/')[2]}.yaml"
    text = (story.repository.read_blob(pull.head, path) or b"").decode()
    edited = edit(story, text)
    assert edited != text
    story.commit(pull.branch, **{path: edited})
    assert propose(story.shell).concerns[0].action == "unchanged"
    story.merge(pull.number)
    result = apply(story.shell)
    assert result.created == 0
    reason = "nothing is approved: the proposal file is not as gitbot wrote it"
    assert [item.reason for item in result.approvals.refused] == [reason]


def test_a_proposal_file_in_a_persons_pull_request_approves_nothing() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    path = f"intents/{CLUSTER}/gitbot/{pull.branch.rpartition('/')[2]}.yaml"
    text = (story.repository.read_blob(pull.head, path) or b"").decode()
    for branch in ("mine", f"gitbot/pull/{CLUSTER}/rest-000000000000"):
        copied = story.open(branch, **{path: text})
        show(story, copied.number)
        story.merge(copied.number)
    assert apply(story.shell).created == 0


def test_a_finished_request_that_is_brought_back_is_a_finding_and_moves_nothing() -> None:
    story = Story.begin()
    first = story.open(jump=REQUEST)
    show(story, first.number)
    story.merge(first.number)
    assert apply(story.shell).states == {"succeeded": 1}
    story.commit(jump=None)
    again = story.open("again", jump=REQUEST)
    result = publish(story.shell, number=again.number, replay=replay)
    assert [item.code for item in result.check.all_findings] == ["intents/finished-name"]
    assert result.check.review is not None
    assert result.check.review.plan.moves == ()
    story.merge(again.number)
    assert apply(story.shell).created == 0
    assert propose(story.shell).concerns == ()


def test_a_request_withdrawn_by_a_revert_stays_so_when_the_revert_is_reverted() -> None:
    story = Story.begin()
    waits = REQUEST + '  notBefore: "2025-12-02T00:00:00Z"\n'
    pull = story.open(jump=waits)
    show(story, pull.number)
    story.merge(pull.number)
    assert [item.until for item in apply(story.shell).waiting] == [1_764_633_600]
    story.commit(jump=None)
    assert apply(story.shell).states == {"withdrawn": 1}
    story.commit(jump=waits)
    story.port.sleep(2 * 86_400)
    assert apply(story.shell).created == 0


def test_what_a_pull_request_says_of_mode_and_limits_counts_after_its_merge_only() -> None:
    story = Story.begin(settings="  mode: Observe\n  approval: Plan\n")
    wide = configuration("  mode: Enforce\n  approval: Intent\n").replace(
        "timeZone: Europe/Madrid", "timeZone: Europe/Madrid\n    limits: {parallel: 50}"
    )
    story.commit("work", **{".gitbot.yaml": wide})
    pull = story.open(jump=REQUEST)
    result = publish(story.shell, number=pull.number, replay=replay)
    assert result.check.settings is not None
    assert result.check.problem is not None
    assert result.check.settings.mode == "Observe"
    assert result.check.problem.limits.parallel == 5


@pytest.mark.parametrize("method", list(MergeMethod))
def test_however_it_is_merged_it_is_carried_out_once(tmp_path: Path, method: MergeMethod) -> None:
    loop = a_loop(tmp_path)
    pull = loop.open({"jump.yaml": REQUEST})
    loop.commit({"rule.yaml": RULE}, branch="work")
    loop.publish(pull.number)
    loop.merge(pull.number, method=method)
    assert loop.apply().states == {"succeeded": 1}
    assert loop.apply().did_nothing


def test_a_rewritten_base_stops_everything_until_a_person_accepts_it(tmp_path: Path) -> None:
    loop = a_loop(tmp_path)
    pull = loop.open({"jump.yaml": REQUEST})
    loop.publish(pull.number)
    loop.merge(pull.number)
    git = Git(tmp_path / "placement.git")
    tree = git.run(["rev-parse", "main^{tree}"]).decode().strip()
    rewritten = commit_tree(
        git, tree, parents=(), message="x", time=1_764_547_200, name="mallory", email="m@b.c"
    )
    git.run(["update-ref", "refs/heads/main", rewritten])
    other = loop.open({"other.yaml": REQUEST.replace("jump,", "other,")}, branch="other")
    for step in (loop.apply, loop.propose, loop.reconcile, lambda: loop.publish(other.number)):
        with pytest.raises(RepositoryError, match="main no longer holds commit"):
            step()
    hold(loop.shell, reason="rewritten", by="alice")
    resume(loop.shell, reason="we know", by="alice")
    result = loop.apply()
    assert result.created == 0
    assert "is no longer part of main" in result.approvals.refused[0].reason


def test_one_pull_request_that_cannot_be_read_stops_nobody_else(tmp_path: Path) -> None:
    loop = a_loop(tmp_path)
    pull = loop.open({"jump.yaml": REQUEST})
    loop.publish(pull.number)
    git = Git(tmp_path / "placement.git")
    blob = git.run(["hash-object", "-w", "--stdin"], stdin=b"/etc/passwd").decode().strip()
    links = git.run(["mktree"], stdin=f"120000 blob {blob}\tlink.yaml\n".encode()).decode().strip()
    folder = f"040000 tree {links}\t{CLUSTER}\n".encode()
    intents = git.run(["mktree"], stdin=folder).decode().strip()
    top = git.run(["mktree"], stdin=f"040000 tree {intents}\tintents\n".encode()).decode().strip()
    base = git.run(["rev-parse", "main"]).decode().strip()
    evil = commit_tree(
        git, top, parents=(base,), message="x", time=1_764_547_200, name="m", email="m@b.c"
    )
    git.run(["update-ref", "refs/heads/work", evil])
    loop.commit({"rule.yaml": RULE})
    result = loop.reconcile()
    (shown,) = result.pulls
    assert [item.code for item in shown.check.all_findings] == ["check/unreadable"]
    assert "is a symbolic link" in shown.check.all_findings[0].message
    assert [item.action for item in result.proposed.concerns] == ["opened"]


def a_loop(folder: Path) -> Loop:
    """customapp after step 2 with a jumpbox, over real Git."""
    cluster = customapp(step=2, jumpbox=True)
    cluster.cordon("kni-worker2", unschedulable=False)
    cluster.settle()
    return Loop.start(folder, cluster)


@pytest.mark.parametrize("between", [None, REQUEST.replace("kni-worker5", "kni-worker3")])
def test_a_request_that_was_changed_and_changed_back_is_proposed_anew(between: str | None) -> None:
    story = Story.begin()
    waits = '  notBefore: "2025-12-02T00:00:00Z"\n'
    pull = story.open(jump=REQUEST + waits)
    show(story, pull.number)
    story.merge(pull.number)
    apply(story.shell)
    story.commit(jump=between and between + waits)
    assert apply(story.shell).states == {"withdrawn": 1}
    story.commit(jump=REQUEST + waits)
    assert [item.action for item in propose(story.shell).concerns] == ["opened"]
    story.merge()
    story.port.sleep(2 * 86_400)
    assert apply(story.shell).states == {"succeeded": 1}
    assert story.where()["jumpbox"] == "kni-worker5"
    assert propose(story.shell).concerns == ()
