"""The local forge takes a merge by plain Git for the merge of its pull request."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.connect import at_address
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.errors import ForgeError
from gitbot.ports.forge import MergeMethod, PullRequest, PullState


@dataclass
class Clone:
    """A person's clone of the bare repository."""

    folder: Path

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
        made = subprocess.run(
            ["git", *who, *words], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return made.stdout.strip()

    def commit(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", name)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def forge(tmp_path: Path) -> LocalForge:
    return LocalForge.create(tmp_path / "forge.git", clock=SystemClock())


@pytest.fixture
def clone(forge: LocalForge, tmp_path: Path) -> Clone:
    subprocess.run(
        ["git", "clone", "-q", tmp_path / "forge.git", "clone"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    made = Clone(tmp_path / "clone")
    made.git("checkout", "-qB", "main")
    made.commit("a.yaml", "1\n2\n3\n")
    made.git("push", "-q", "origin", "main")
    return made


def asked(forge: LocalForge, clone: Clone, *, commits: int = 1) -> PullRequest:
    """A pull request that adds files."""
    clone.git("checkout", "-qB", "wish", "main")
    for number in range(commits):
        clone.commit(f"wish-{number}.yaml", "x\n")
    clone.git("push", "-q", "-f", "origin", "wish")
    pull = forge.open_pull(branch="wish", base_branch="main", title="A wish", body="", labels=())
    clone.git("checkout", "-q", "main")
    return pull


def merge(clone: Clone, *words: str) -> str:
    clone.git("merge", "-q", *words, "wish")
    return clone.git("rev-parse", "HEAD")


def squash(clone: Clone) -> str:
    clone.git("merge", "-q", "--squash", "wish")
    clone.git("commit", "-qm", "A wish")
    return clone.git("rev-parse", "HEAD")


def rebase(clone: Clone) -> str:
    clone.git("checkout", "-qB", "again", "wish")
    clone.git("rebase", "-q", "main")
    clone.git("checkout", "-q", "main")
    clone.git("merge", "-q", "--ff-only", "again")
    return clone.git("rev-parse", "HEAD")


@pytest.mark.parametrize("moved", [False, True], ids=["same base", "base moved"])
@pytest.mark.parametrize("commits", [1, 3])
@pytest.mark.parametrize(
    "how",
    [
        lambda clone: merge(clone, "--no-ff", "-m", "Merge it"),
        lambda clone: merge(clone, "-m", "Merge it"),
        squash,
        rebase,
    ],
    ids=["no-ff", "git merge", "squash", "rebase"],
)
def test_it_is_merged_however_a_person_merged(
    forge: LocalForge, clone: Clone, how: Callable[[Clone], str], commits: int, moved: bool
) -> None:
    if moved:
        clone.commit("before.yaml", "0\n")
        clone.git("push", "-q", "origin", "main")
        clone.git("branch", "old", "HEAD^")
    pull = asked(forge, clone, commits=commits)
    if moved:
        clone.commit("a.yaml", "1\n2\n4\n")
    commit = how(clone)
    clone.commit("after.yaml", "0\n")
    clone.git("push", "-q", "origin", "main")
    clone.git("push", "-q", "origin", ":wish")
    found = forge.get_pull(pull.number) if commits == 1 else forge.list_pulls()[0]
    assert (found.state, found.merge_commit, found.merged_by) == (PullState.MERGED, commit, "ann")
    assert found.merged_head == found.head == pull.head
    assert pull.created_at <= found.merged_at <= SystemClock().now()
    assert forge.list_pulls(state=PullState.OPEN) == ()
    with pytest.raises(ForgeError, match="is merged, not open"):
        forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=pull.head)


def test_the_configuration_says_how_many_must_approve(
    forge: LocalForge, clone: Clone, tmp_path: Path
) -> None:
    pull = asked(forge, clone)
    connected = at_address(str(tmp_path / "forge.git"))
    for required in (None, 0, 2):
        opened = connected.forge(required, "dora", SystemClock())
        assert opened.reviews_required == (required or 0)
    with pytest.raises(ForgeError, match="has 0 of 2 approvals"):
        opened.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=pull.head)


def test_another_forge_value_reads_the_merge_that_one_noted(
    forge: LocalForge, clone: Clone, tmp_path: Path
) -> None:
    pull = asked(forge, clone)
    forge.approve_pull(pull.number, reviewer="dora")
    commit = merge(clone, "--no-ff", "-m", "Merge it")
    clone.git("push", "-q", "origin", "main")
    assert forge.get_pull(pull.number).merge_commit == commit
    clone.git("reset", "-q", "--hard", "HEAD^")
    clone.git("push", "-q", "-f", "origin", "main")
    again = LocalForge(tmp_path / "forge.git", clock=SystemClock()).get_pull(pull.number)
    assert (again.state, again.merge_commit) == (PullState.MERGED, commit)
    assert [review.reviewer for review in again.reviews] == ["dora"]


def test_a_fast_forward_is_a_merge_of_the_time_that_saw_it(
    forge: LocalForge, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commits are older than the plan that the pull request showed."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1700000000 +0000")
    pull = asked(forge, clone)
    merge(clone, "--ff-only")
    clone.git("push", "-q", "origin", "main")
    before = SystemClock().now()
    assert forge.get_pull(pull.number).merged_at >= before


def pushed_on(forge: LocalForge, clone: Clone) -> None:
    """The base branch has only a part of what was asked."""
    merge(clone, "--no-ff", "-m", "Merge it")
    clone.git("checkout", "-q", "wish")
    clone.commit("more.yaml", "y\n")
    clone.git("push", "-q", "origin", "wish", "main")


def nothing_own(forge: LocalForge, clone: Clone) -> None:
    """The branch was thrown away: it has no commit of its own."""
    clone.git("push", "-q", "-f", "origin", "main:wish")
    clone.commit("other.yaml", "y\n")
    clone.git("push", "-q", "origin", "main")


def another_patch(forge: LocalForge, clone: Clone) -> None:
    clone.commit("wish-0.yaml", "another\n")
    clone.git("push", "-q", "origin", "main")


@pytest.mark.parametrize("what", [pushed_on, nothing_own, another_patch])
def test_it_stays_open_as_long_as_the_base_branch_lacks_it(
    forge: LocalForge, clone: Clone, what: Callable[[LocalForge, Clone], None]
) -> None:
    pull = asked(forge, clone)
    what(forge, clone)
    assert forge.get_pull(pull.number).state is PullState.OPEN
    assert len(forge.list_pulls(state=PullState.OPEN)) == 1


def test_a_commit_that_git_has_thrown_away_stops_nothing(
    forge: LocalForge, clone: Clone, tmp_path: Path
) -> None:
    clone.git("commit", "-q", "--allow-empty", "-m", "soon rewritten")
    clone.git("push", "-q", "origin", "main")
    pull = asked(forge, clone)
    for branch in ("main", "wish"):
        clone.git("checkout", "-q", "--orphan", f"new-{branch}")
        clone.commit(f"{branch}.yaml", "new\n")
        clone.git("push", "-q", "-f", "origin", f"HEAD:{branch}")
    bare = Clone(tmp_path / "forge.git")
    bare.git("reflog", "expire", "--expire=now", "--all")
    bare.git("gc", "-q", "--prune=now")
    again = LocalForge(bare.folder, clock=SystemClock())
    assert again.get_pull(pull.number).state is PullState.OPEN


def test_what_the_base_branch_had_before_is_no_merge(forge: LocalForge, clone: Clone) -> None:
    clone.git("branch", "wish")
    clone.commit("b.yaml", "1\n")
    clone.git("push", "-q", "origin", "main", "wish")
    pull = forge.open_pull(branch="wish", base_branch="main", title="Old", body="", labels=())
    clone.commit("c.yaml", "1\n")
    clone.git("push", "-q", "origin", "main")
    assert forge.get_pull(pull.number).state is PullState.OPEN
