"""Histories of Git and forge that a careless bot would act on: nobody approved them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gitbot.adapters.git.objects import commit_tree
from gitbot.adapters.git.process import Git
from gitbot.errors import GitbotError, LedgerError, RepositoryError
from gitbot.ports.forge import MergeMethod
from gitbot.workflows.apply import apply, hold, resume
from gitbot.workflows.check import publish
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.customapp import customapp
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.scenarios.loop import Loop
from tests.unit.workflows.story import CLUSTER, Story, configuration

Edit = Callable[[Story, str], str]


def show(story: Story, number: int) -> str:
    """`gitbot check --pull-request N --publish`; the digest that it showed."""
    return publish(story.shell, number=number).digest


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
    result = publish(story.shell, number=again.number)
    assert [item.code for item in result.check.all_findings] == ["intents/finished-name"]
    assert result.check.judged is not None
    assert result.check.judged.plan.moves == ()
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
    result = publish(story.shell, number=pull.number)
    assert result.check.revision is not None
    assert result.check.judged is not None
    assert result.check.revision.settings.mode == "Observe"
    assert result.check.judged.plan.limits.parallel == 5


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


def test_a_base_without_the_merge_that_was_carried_out_stops_everything() -> None:
    """What was shown before that is still there."""
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story, pull.number)
    before = story.repository.commit("main").id
    story.merge(pull.number)
    assert apply(story.shell).created == 1
    story.repository.branches["main"] = before
    with pytest.raises(RepositoryError, match="no longer holds commit"):
        apply(story.shell)


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


def request_for(name: str, vm: str, more: str = "") -> str:
    """A request for a VM to go to kni-worker2."""
    return f"""{HEAD}kind: MigrationRequest
metadata: {{name: {name}, namespace: customapp}}
spec:
  vms: {{names: [{vm}]}}
  target: {{node: kni-worker2}}
  reason: Other
{more}"""


def test_two_pull_requests_good_alone_and_bad_together_the_second_is_held() -> None:
    story = Story.begin(db=RULE)
    first, second = (vm for vm, node in sorted(story.where().items()) if node == "kni-worker6")
    one = story.open("one", one=request_for("one", first))
    two = story.open("two", two=request_for("two", second))
    show(story, one.number)
    show(story, two.number)
    story.merge(one.number)
    story.merge(two.number)
    result = apply(story.shell)
    assert result.states == {"succeeded": 1}
    assert [item.request for item in result.stale] == ["request/customapp/two"]
    assert story.databases() == ["kni-worker2", "kni-worker4", "kni-worker6"]


def test_a_clash_with_an_approved_plan_names_its_pull_request() -> None:
    story = Story.begin(db=RULE)
    first, second = (vm for vm, node in sorted(story.where().items()) if node == "kni-worker6")
    later = '  notBefore: "2025-12-02T00:00:00Z"\n'
    one = story.open("one", one=request_for("one", first, later))
    two = story.open("two", two=request_for("two", second, later))
    show(story, one.number)
    show(story, two.number)
    story.merge(one.number)
    (again,) = reconcile(story.shell).pulls
    assert again.check.fails()
    messages = " ".join(str(finding) for finding in again.check.all_findings)
    assert "kept for request/customapp/one (pull request #1)" in messages


def test_a_review_of_an_older_head_approves_nothing() -> None:
    story = Story.begin(reviews_required=1)
    story.forge.enforced = False  # an administrator merges past the missing review
    pull = story.open(jump=REQUEST)
    show(story, pull.number)
    story.forge.approve_pull(pull.number, reviewer="bob")
    story.commit("work", jump=REQUEST.replace("kni-worker5", "kni-worker3"))
    show(story, pull.number)
    story.merge(pull.number)
    assert apply(story.shell).created == 0


def test_a_merge_into_another_branch_approves_nothing_when_that_comes_to_the_base() -> None:
    """Reviews, and what was shown, were about the other branch."""
    story = Story.begin()
    story.repository.branches["release"] = story.repository.commit("main").id
    pull = story.open(jump=REQUEST)
    show(story, pull.number)
    story.forge.retarget_pull(pull.number, base_branch="release")
    story.merge(pull.number)
    story.repository.branches["main"] = story.repository.commit("release").id
    assert apply(story.shell).created == 0


def test_a_plan_on_a_snapshot_that_is_too_old_approves_nothing() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    old = story.port.snapshot()
    story.port.sleep(7200)
    shown = publish(story.shell, number=pull.number, snapshot=old)
    assert "120 minutes old" in shown.check.all_findings[0].message
    story.merge(pull.number)
    assert apply(story.shell).created == 0


def test_a_freeze_that_comes_after_the_approval_wins() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    show(story, pull.number)
    story.merge(pull.number)
    story.commit(
        freeze=f"""{HEAD}kind: FreezeWindow
metadata: {{name: quarter}}
spec:
  namespaces: [customapp]
  schedule: {{start: "2025-11-30T00:00", timeZone: UTC, duration: P7D}}
  reason: quarter close
"""
    )
    result = apply(story.shell)
    assert result.created == 0
    assert [item.until for item in result.waiting] == [1_765_065_600]


def test_a_plan_that_was_edited_in_the_ledger_stops_everything() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    digest = show(story, pull.number)
    story.merge(pull.number)
    ledger = story.store.read()
    edited = ledger.plans[digest].replace(b"kni-worker5", b"kni-worker3")
    story.store.ledger = ledger.replace(plans={**ledger.plans, digest: edited})
    with pytest.raises(GitbotError, match="does not hold what its digest says"):
        apply(story.shell)


def test_a_rewritten_ledger_stops_everything(tmp_path: Path) -> None:
    loop = a_loop(tmp_path)
    pull = loop.open({"jump.yaml": REQUEST})
    loop.publish(pull.number)
    git = Git(tmp_path / "placement.git")
    before = git.run(["rev-parse", "gitbot/ledger"]).decode().strip()
    loop.merge(pull.number)
    loop.apply()
    git.run(["update-ref", "refs/heads/gitbot/ledger", before])
    with pytest.raises(LedgerError, match="no longer holds commit"):
        loop.apply()
