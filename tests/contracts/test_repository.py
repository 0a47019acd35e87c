"""The Repository port, held on real Git."""

import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.git import bounded_command, objects, process
from gitbot.adapters.git import repository as git_repository
from gitbot.adapters.git.bounded_command import CommandBound
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.objects import commit_tree
from gitbot.adapters.git.process import Git, hardened_environment
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import ConflictError, RepositoryError, UnreachableError
from tests.doubles.repository import MemoryRepository


def mirror(bare: Path, folder: Path) -> GitRepository:
    return GitRepository.clone(str(bare), folder)


@pytest.fixture
def repository(bare: Path, tmp_path: Path) -> GitRepository:
    return mirror(bare, tmp_path / "mirror")


def commit(
    repository: GitRepository,
    files: dict[str, bytes | None],
    *,
    branch: str = "main",
    time: int = 1000,
) -> str:
    return repository.write_commit(
        branch=branch,
        expected=repository.resolve(branch),
        files=files,
        message=f"write {', '.join(files)}",
        time=time,
    )


def test_what_was_committed_is_read_back(repository: GitRepository) -> None:
    first = commit(repository, {"intents/prod/a.yaml": b"a\n", ".gitbot.yaml": b"c\n"})
    assert repository.resolve("main") == first
    assert repository.read_tree("main", "intents/prod") == {"intents/prod/a.yaml": b"a\n"}
    assert repository.read_blob(first, ".gitbot.yaml") == b"c\n"
    assert repository.read_blob(first, "missing") is None
    assert repository.commit("main").message == "write intents/prod/a.yaml, .gitbot.yaml"


def test_only_a_mirror_of_gitbots_own_is_fetched_into(bare: Path, tmp_path: Path) -> None:
    mirror(bare, tmp_path / "mirror").fetch()
    own = tmp_path / "own.git"
    own.mkdir()
    git = Git(own)
    git.run(["init", "--bare", "--quiet", "--initial-branch=main"])
    tree = git.run(["write-tree"]).decode().strip()
    kept = commit_tree(git, tree, parents=(), message="kept", name="n", email="e", time=1)
    git.run(["update-ref", "refs/heads/kept", kept])
    with pytest.raises(RepositoryError, match="not a mirror that gitbot made"):
        mirror(bare, own)
    assert git.run(["rev-parse", "refs/heads/kept"]).decode().strip() == kept


@pytest.mark.parametrize(
    "name",
    [
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
        "GIT_NAMESPACE", "GIT_QUARANTINE_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX",
        "GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "GIT_SHALLOW_FILE", "GIT_SSH_COMMAND",
    ],
)  # fmt: skip
def test_no_process_inherits_what_a_hook_set(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv(name, str(other))
    written = commit(mirror(bare, tmp_path / "mirror"), {"a": b"1"})
    assert Git(bare).run(["rev-parse", "refs/heads/main"]).decode().strip() == written
    assert list(other.iterdir()) == []


def test_same_commit_twice_has_the_same_id(bare: Path, tmp_path: Path) -> None:
    first = commit(mirror(bare, tmp_path / "one"), {"a": b"1"}, branch="one")
    second = commit(mirror(bare, tmp_path / "two"), {"a": b"1"}, branch="two")
    assert first == second


def test_a_removed_file_is_gone(repository: GitRepository) -> None:
    commit(repository, {"a": b"1", "b": b"2"})
    commit(repository, {"a": None})
    assert repository.read_tree("main") == {"b": b"2"}


def test_the_second_of_two_writers_loses(bare: Path, tmp_path: Path) -> None:
    one, two = mirror(bare, tmp_path / "one"), mirror(bare, tmp_path / "two")
    start = commit(one, {"a": b"0"})
    two.fetch()
    commit(one, {"a": b"1"})
    with pytest.raises(ConflictError, match="somebody else moved main first"):
        two.write_commit(branch="main", expected=start, files={"a": b"2"}, message="m", time=1)
    two.fetch()
    assert two.read_blob("main", "a") == b"1"


def test_creating_a_branch_that_exists_loses(bare: Path, tmp_path: Path) -> None:
    one, two = mirror(bare, tmp_path / "one"), mirror(bare, tmp_path / "two")
    commit(one, {"a": b"1"}, branch="gitbot/ledger")
    with pytest.raises(ConflictError):
        two.write_commit(
            branch="gitbot/ledger", expected=None, files={"a": b"2"}, message="m", time=1
        )


def test_an_orphan_replaces_the_branch(repository: GitRepository) -> None:
    commit(repository, {"old": b"1"}, branch="gitbot/snapshot/prod")
    before = repository.resolve("gitbot/snapshot/prod")
    repository.write_commit(
        branch="gitbot/snapshot/prod",
        expected=before,
        files={"snapshot.json.gz": b"2"},
        message="m",
        time=2,
        orphan=True,
    )
    assert repository.read_tree("gitbot/snapshot/prod") == {"snapshot.json.gz": b"2"}
    assert repository.commit("gitbot/snapshot/prod").parents == ()


def test_merging_in_memory(repository: GitRepository) -> None:
    base = commit(repository, {"a": b"1\n", "b": b"1\n"})
    repository.write_commit(
        branch="clean", expected=None, files={"b": b"2\n"}, message="m", time=1, parents=(base,)
    )
    assert repository.resolve("clean") is not None
    head = repository.write_commit(
        branch="left", expected=None, files={"a": b"2\n", "b": b"1\n"}, message="m", time=1,
        parents=(base,),
    )  # fmt: skip
    clash = repository.write_commit(
        branch="right", expected=None, files={"a": b"3\n", "b": b"1\n"}, message="m", time=1,
        parents=(base,),
    )  # fmt: skip
    tree = repository.merge_trees("main", head)
    assert tree is not None
    assert repository.read_tree(tree) == {"a": b"2\n", "b": b"1\n"}
    assert repository.merge_trees(head, clash) is None


def test_history_follows_first_parents(repository: GitRepository) -> None:
    base = commit(repository, {"a": b"1"}, time=1)
    added = commit(repository, {"intents/new.yaml": b"n"}, time=2)
    last = commit(repository, {"a": b"2"}, time=3)
    assert [c.id for c in repository.log("main")] == [last, added, base]
    assert [c.id for c in repository.log("main", path="intents/new.yaml")] == [added]
    assert [c.id for c in repository.log("main", limit=1)] == [last]
    assert repository.introduced_by("main", "intents/new.yaml") == added
    assert repository.introduced_by("main", "nothing") is None
    assert repository.is_ancestor(base, last)
    assert not repository.is_ancestor(last, base)
    assert repository.merge_base(added, last) == added


def test_no_name_of_a_file_is_a_pattern(repository: GitRepository) -> None:
    """The double has no patterns: whatever the names are, Git must say the same."""
    dice, double = random.Random(7), MemoryRepository()
    names = {"".join(dice.choices("a*?[]:!^-", k=dice.randint(1, 4))) for _ in range(12)}
    names |= {"a", "b", "*", ":(glob)**", ":!a", ":^a", ":/a", "[ab]", "in/*", "in/a"}
    names -= {":", "in"}  # they are folders
    for time, name in enumerate(sorted(names)):
        commit(repository, {name: b"1"}, time=time)
        tip = double.resolve("main")
        files = {name: b"1"}
        double.write_commit(branch="main", expected=tip, files=files, message=name, time=time)
    for name in names:
        told = [[it.time for it in by.log("main", path=name)] for by in (repository, double)]
        assert told[0] == told[1], name
        added = [by.introduced_by("main", name) for by in (repository, double)]
        assert repository.commit(added[0] or "").time == double.commit(added[1] or "").time, name
        assert repository.read_tree("main", name) == {name: b"1"}


@pytest.mark.parametrize(
    "rev",
    ["", "-x", "--output=/tmp/x", "a..b", "main@{1}", "a b", "a\nb", "a~1", "a^", "a:b", "/a",
     "a.lock", ".hidden", "a//b", "@"],
)  # fmt: skip
def test_no_rev_becomes_an_option(repository: GitRepository, rev: str) -> None:
    with pytest.raises(RepositoryError, match="is not a branch, tag or full commit id"):
        repository.resolve(rev)


def push_odd(bare: Path, repository: GitRepository, mode: str, name: str) -> None:
    """A commit `odd` of one entry of one mode, at the root."""
    first = commit(repository, {"intents/a.yaml": b"a"})
    git = Git(bare)
    blob = git.run(["hash-object", "-w", "--stdin"], stdin=b"x").decode().strip()
    target = first if mode == "160000" else blob
    tree = git.run(
        ["mktree"],
        stdin=f"{mode} {'commit' if mode == '160000' else 'blob'} {target}\t{name}\n".encode(),
    )
    environment = {
        f"GIT_{role}_{key}": "x@y" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    made = git.run(["commit-tree", tree.decode().strip(), "-m", "m"], environment=environment)
    git.run(["update-ref", "refs/heads/odd", made.decode().strip()])
    repository.fetch()


@pytest.mark.parametrize("mode", ["120000", "160000", "100755"])
def test_what_is_no_plain_file_is_refused(bare: Path, repository: GitRepository, mode: str) -> None:
    push_odd(bare, repository, mode, "odd.yaml")
    with pytest.raises(RepositoryError, match=r"odd\.yaml is "):
        repository.read_tree("odd")


@pytest.mark.parametrize("mode", ["120000", "160000", "100644"])
def test_what_is_no_folder_is_not_an_empty_one(
    bare: Path, repository: GitRepository, mode: str
) -> None:
    push_odd(bare, repository, mode, "policies")
    with pytest.raises(RepositoryError, match=r"policies/? is a "):
        repository.read_tree("odd", "policies/")
    assert repository.read_tree("odd", "policies-of-others/") == {}
    assert repository.read_tree("odd", "polic") == {}


def test_a_hook_of_the_remote_configuration_does_not_run(bare: Path, tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    folder = tmp_path / "mirror"
    repository = mirror(bare, folder)
    hook = folder / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    commit(repository, {"a": b"1"})
    assert not witness.exists()


def test_a_lost_answer_is_resolved_by_reading(repository: GitRepository, bare: Path) -> None:
    # the remote already holds our very commit: pushing it again is not a conflict
    first = commit(repository, {"a": b"1"})
    repository.write_commit(branch="main", expected=first, files={"a": b"2"}, message="m", time=5)
    Git(bare).run(["update-ref", "refs/heads/main", first])
    again = repository.write_commit(
        branch="main", expected=first, files={"a": b"2"}, message="m", time=5
    )
    assert Git(bare).run(["rev-parse", "main"]).decode().strip() == again


def test_a_lock_that_a_killed_git_left_in_the_remote_is_named(
    repository: GitRepository, bare: Path
) -> None:
    commit(repository, {"a": b"1"})
    (bare / "refs" / "heads" / "main.lock").touch()
    with pytest.raises(ConflictError) as caught:
        commit(repository, {"a": b"2"})
    assert "remove the .lock that a killed Git left" in caught.value.hint


def test_a_branch_whose_name_ends_like_that_of_another_does_not_answer_for_it(
    repository: GitRepository, bare: Path
) -> None:
    """`git ls-remote` matches the ends of names, and lists this one first."""
    first = commit(repository, {"a": b"1"})
    Git(bare).run(["update-ref", "refs/heads/a\u00e4/refs/heads/main", first])
    second = commit(repository, {"a": b"2"})
    assert repository._branches.tip("refs/heads/main") == second


def test_no_configuration_of_the_person_is_used() -> None:
    environment = hardened_environment()
    assert environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert environment["GIT_CONFIG_NOSYSTEM"] == "1"


def test_a_remote_of_another_account_says_what_helps(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git advises safe.directory, which is the person's and not read; this remote seems foreign."""

    def foreign(*arguments: Any) -> dict[str, str]:
        return {**hardened_environment(*arguments), "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}

    monkeypatch.setattr(process, "hardened_environment", foreign)
    with pytest.raises(UnreachableError) as caught:
        mirror(bare, tmp_path / "mirror")
    assert caught.value.message == "the folder of the remote belongs to another account"
    assert "run gitbot as its owner" in caught.value.hint


def test_no_program_or_replacement_of_a_clone_has_a_say(tmp_path: Path) -> None:
    """Merge drivers, filters, signatures run programs; replacements and grafts change commits."""
    canary, folder = tmp_path / "ran", tmp_path / "clone"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$@" >> {canary}\n', encoding="ascii")
    program.chmod(0o755)

    def git(*arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=n@b.c", *arguments],
            cwd=folder,
            input=stdin,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def committed(text: str) -> str:
        (folder / "a").write_text(text, encoding="ascii")
        git("add", ".")
        git("commit", "--quiet", "-m", "m")
        return git("rev-parse", "HEAD")

    folder.mkdir()
    git("init", "--quiet", "--initial-branch=main")
    lines = "".join(f"{number}\n" for number in range(20))
    first = committed(lines)
    main = committed(f"{lines}end\n")
    git("checkout", "--quiet", "-b", "head", first)
    head = committed(f"begin\n{lines}")
    (folder / ".git" / "info" / "attributes").write_text("* merge=x filter=x diff=x\n")
    (folder / "more").write_text(f'[merge "x"]\n\tdriver = {program} %A\n', encoding="ascii")
    for key, value in {
        "include.path": str(folder / "more"),
        "merge.default": "x",
        "merge.renormalize": "true",
        "filter.x.clean": str(program),
        "filter.x.smudge": str(program),
        "core.fsmonitor": str(program),
        "gpg.program": str(program),
        "log.showSignature": "true",
        "diff.external": str(program),
    }.items():
        git("config", key, value)
    blob = git("rev-parse", f"{main}:a")
    other = git("hash-object", "-w", "--no-filters", "--stdin", stdin="evil\n")
    git("replace", blob, other)
    (folder / ".git" / "info" / "grafts").write_text(f"{head} {main}\n", encoding="ascii")
    canary.unlink(missing_ok=True)

    clone = GitRepository.of_work_tree(folder)
    assert clone.read_tree(main) == {"a": f"{lines}end\n".encode()}
    merged = clone.merge_trees(main, head)
    assert merged is not None
    assert clone.read_tree(merged) == {"a": f"begin\n{lines}end\n".encode()}
    assert clone.merge_base(main, head) == first
    assert clone.introduced_by("main", "a") == first
    assert "hint" not in Git.of_work_tree(folder).attempt(["log", "-1", "main"])[1]
    assert not canary.exists()


@pytest.mark.parametrize("name", ["main", "origin/main", "HEAD"])
def test_no_tag_stands_for_a_branch(
    repository: GitRepository, bare: Path, tmp_path: Path, name: str
) -> None:
    """Who may push a tag would choose the configuration and policies of `check --base`."""
    main = commit(repository, {"a": b"1\n"})
    subprocess.run(["git", "clone", "--quiet", str(bare), str(tmp_path / "clone")], check=True)
    head = commit(repository, {"a": b"2\n"})
    git = Git(tmp_path / "clone" / ".git")
    git.run(["fetch", "--quiet", "origin", f"{head}:refs/tags/{name}"])
    assert GitRepository.of_work_tree(tmp_path / "clone").resolve(name) == main
    assert GitRepository.of_work_tree(tmp_path / "clone").resolve(f"refs/tags/{name}") == head


def a_head(bare: Path, main: str, data: bytes) -> str:
    """The head of pull request 1, of a fork: no branch holds it."""
    git = Git(bare)
    blob = git.run(["hash-object", "-w", "--stdin"], stdin=data).decode("ascii").strip()
    tree = git.run(["mktree"], stdin=f"100644 blob {blob}\ta\n".encode()).decode("ascii").strip()
    head = commit_tree(git, tree, parents=(main,), message="m", name="n", email="n@b.c", time=1)
    git.run(["update-ref", "refs/pull/1/head", head])
    return head


def test_the_head_of_a_pull_request_comes_when_it_is_asked_for(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    main = commit(repository, {"a": b"1\n"})
    head = a_head(bare, main, b"2\n")
    fresh = mirror(bare, tmp_path / "fresh")
    fresh.fetch()
    assert fresh.resolve(head) is None
    fresh.fetch_commit(head)
    fresh.fetch_commit(head)
    tree = fresh.merge_trees(main, head)
    assert tree is not None
    assert fresh.read_tree(tree) == {"a": b"2\n"}
    for unknown in ("0" * 40, "main", "--upload-pack=x"):
        with pytest.raises(RepositoryError):
            fresh.fetch_commit(unknown)


def test_a_pull_request_that_cannot_be_fetched_keeps_nobody_from_the_branches(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    """Anybody may open one, with objects that Git refuses to take."""
    main = commit(repository, {"a": b"1\n"})
    git = Git(bare)
    tree = git.run(["rev-parse", f"{main}^{{tree}}"]).decode("ascii").strip()
    text = f"tree {tree}\nauthor a <a@b>1 +0000\ncommitter a <a@b>1 +0000\n\nx\n"
    making = ["hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    bad = git.run(making, stdin=text.encode("ascii")).decode("ascii").strip()
    (bare / "refs" / "pull" / "1").mkdir(parents=True)
    (bare / "refs" / "pull" / "1" / "head").write_text(f"{bad}\n", encoding="ascii")
    fresh = mirror(bare, tmp_path / "fresh")
    with pytest.raises(RepositoryError, match="fsck") as refusal:
        fresh.fetch_commit(bad)
    assert not isinstance(refusal.value, UnreachableError)
    fresh.fetch()
    assert fresh.resolve("main") == main
    assert fresh.resolve(bad) is None
    with pytest.raises(RepositoryError):
        fresh.merge_trees(main, bad)


def a_refused_branch(bare: Path, base: str, name: str) -> None:
    """A branch whose commit Git does not take over (fsck)."""
    git = Git(bare)
    tree = git.run(["rev-parse", f"{base}^{{tree}}"]).decode("ascii").strip()
    text = f"tree {tree}\nauthor a <a@b>1 +0000\ncommitter a <a@b>1 +0000\n\nx\n"
    making = ["hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    bad = git.run(making, stdin=text.encode("ascii")).decode("ascii").strip()
    ref = bare / "refs" / "heads" / name
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(f"{bad}\n", encoding="ascii")


@pytest.mark.parametrize("only", [(), ("main", "gitbot/*")], ids=["all", "named"])
def test_a_branch_that_git_refuses_stops_nobody(
    repository: GitRepository, bare: Path, tmp_path: Path, only: tuple[str, ...]
) -> None:
    main = commit(repository, {"a": b"1\n"})
    ledger = commit(repository, {"entry": b"1\n"}, branch="gitbot/ledger")
    a_refused_branch(bare, main, "gitbot/evil")
    fresh = GitRepository.clone(str(bare), tmp_path / "fresh", only=only)
    assert fresh.resolve("main") == main
    assert fresh.resolve("gitbot/ledger") == ledger
    with pytest.raises(RepositoryError, match=r"branch gitbot/evil .* cannot be fetched"):
        fresh.resolve("gitbot/evil")
    (bare / "refs" / "heads" / "gitbot" / "evil").unlink()
    fresh.fetch()
    assert fresh.resolve("gitbot/evil") is None


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("name", ["x\u2028y", "x\x85", "x\xa0y", "\udcff\udcfe", "\u202ex"])
def test_no_name_of_a_branch_stops_anybody(
    repository: GitRepository, bare: Path, tmp_path: Path, name: str, refused: bool
) -> None:
    """A name may hold ends of lines and blanks of Unicode, and bytes that are not UTF-8."""
    main = commit(repository, {"a": b"1\n"})
    Git(bare).run(["update-ref", f"refs/heads/gitbot/{name}", main])
    if refused:
        a_refused_branch(bare, main, "gitbot/evil")
    fresh = GitRepository.clone(str(bare), tmp_path / "fresh", only=("main", "gitbot/*"))
    assert fresh.resolve("main") == main
    fresh.fetch()
    assert fresh.resolve("main") == main


def test_a_refused_ledger_is_an_error_and_never_an_empty_ledger(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    main = commit(repository, {"a": b"1\n"})
    a_refused_branch(bare, main, "gitbot/ledger")
    fresh = GitRepository.clone(str(bare), tmp_path / "fresh", only=("main", "gitbot/*"))
    assert fresh.resolve("main") == main
    with pytest.raises(RepositoryError, match="cannot be fetched"):
        GitLedgerStore(fresh).read()


def test_only_the_branches_that_are_named_are_mirrored(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    commit(repository, {"a": b"1\n"})
    person = commit(repository, {"a": b"2\n"}, branch="person")
    plan = commit(repository, {"a": b"3\n"}, branch="gitbot/plan")
    a_refused_branch(bare, person, "evil")
    fresh = GitRepository.clone(str(bare), tmp_path / "fresh", only=("main", "gitbot/*"))
    assert fresh.resolve("gitbot/plan") == plan
    assert fresh.resolve("person") is None
    assert fresh.resolve("evil") is None
    fresh.fetch_commit(person)
    assert fresh.resolve(person) == person


def test_a_pack_with_two_names_counts_once(tmp_path: Path) -> None:
    packs = tmp_path / "objects" / "pack"
    packs.mkdir(parents=True)
    (packs / "tmp_pack_1").write_bytes(b"1234")
    (packs / "pack-1.pack").hardlink_to(packs / "tmp_pack_1")
    (packs / "pack-2.pack").write_bytes(b"12")
    assert bounded_command.size_of_packs(tmp_path) == 6


@pytest.mark.parametrize("look", [0.25, 0.001])
def test_a_pull_request_that_brings_too_much_is_refused_and_leaves_nothing(
    repository: GitRepository,
    bare: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    look: float,
) -> None:
    main = commit(repository, {"a": b"1\n"})
    head = a_head(bare, main, random.Random(1).randbytes(4 * 1024 * 1024))
    fresh = mirror(bare, tmp_path / "fresh")
    fresh.fetch()
    before = bounded_command.size_of_packs(tmp_path / "fresh")
    monkeypatch.setattr(bounded_command, "_LOOK", look)
    monkeypatch.setattr(git_repository, "ONE_HEAD", CommandBound(seconds=60, bytes=1024 * 1024))
    for _ in range(2):
        with pytest.raises(RepositoryError, match="it brings more than 1 MiB"):
            fresh.fetch_commit(head)
        assert fresh.resolve(head) is None
        assert fresh.resolve("main") == main
    assert bounded_command.size_of_packs(tmp_path / "fresh") < before + 64 * 1024
    monkeypatch.setattr(git_repository, "ONE_HEAD", CommandBound(seconds=60, bytes=8 * 1024 * 1024))
    fresh.fetch_commit(head)
    assert fresh.resolve(head) == head


def a_tree(git: Git, *entries: str) -> str:
    text = "".join(f"{entry}\n" for entry in entries)
    return git.run(["mktree"], stdin=text.encode("ascii")).decode("ascii").strip()


def a_blob(git: Git, data: bytes) -> str:
    return git.run(["hash-object", "-w", "--stdin"], stdin=data).decode("ascii").strip()


def a_commit(git: Git, tree: str, *parents: str, branch: str) -> str:
    made = commit_tree(git, tree, parents=parents, message="m", name="n", email="n@b.c", time=1)
    git.run(["update-ref", f"refs/heads/{branch}", made])
    return made


def test_trees_within_trees_are_neither_merged_nor_listed(
    repository: GitRepository, bare: Path
) -> None:
    """A hundred million paths in a few hundred bytes; a file gone makes Git look for renames."""
    git = Git(bare)
    file = a_blob(git, b"x\n")
    start = a_commit(git, a_tree(git, f"100644 blob {file}\ta"), branch="start")
    other = a_blob(git, b"y\n")
    main = a_commit(git, a_tree(git, f"100644 blob {other}\ta"), start, branch="main")
    bomb = a_tree(git, *(f"100644 blob {file}\tf{n}" for n in range(10)))
    for _ in range(7):
        bomb = a_tree(git, *(f"040000 tree {bomb}\td{n}" for n in range(10)))
    head = a_commit(git, a_tree(git, f"040000 tree {bomb}\tintents"), start, branch="bomb")
    repository.fetch()
    with pytest.raises(RepositoryError, match="changes more than 100000 files"):
        repository.merge_trees(main, head)


def test_who_brings_too_much_is_not_merged(
    repository: GitRepository, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = Git(bare)
    small, large = a_blob(git, b"x\n"), a_blob(git, b"0" * 5000)
    main = a_commit(git, a_tree(git, f"100644 blob {large}\told"), branch="main")
    entries = (f"100644 blob {small}\tnew", f"100644 blob {large}\told")
    fine = a_commit(git, a_tree(git, *entries), main, branch="fine")
    much = a_blob(git, b"1" * 5000)
    bad = a_commit(git, a_tree(git, f"100644 blob {much}\tnew"), main, branch="bad")
    alone = a_commit(git, a_tree(git, f"100644 blob {small}\tnew"), branch="alone")
    repository.fetch()
    monkeypatch.setattr(objects, "MAX_NEW_BYTES", 4000)
    assert repository.merge_trees(main, fine) is not None
    with pytest.raises(RepositoryError, match="brings 5000 bytes"):
        repository.merge_trees(main, bad)
    with pytest.raises(RepositoryError, match="no commit in common"):
        repository.merge_trees(main, alone)


def test_a_remote_that_is_not_there_is_not_the_head_s_fault(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    main = commit(repository, {"a": b"1\n"})
    head = a_head(bare, main, b"2\n")
    fresh = mirror(bare, tmp_path / "fresh")
    with pytest.raises(RepositoryError) as unknown:
        fresh.fetch_commit("1" * 40)
    assert not isinstance(unknown.value, UnreachableError)
    away = bare.rename(tmp_path / "away.git")
    with pytest.raises(UnreachableError):
        fresh.fetch_commit(head)
    away.rename(bare)
    fresh.fetch_commit(head)


def test_heads_that_nothing_refers_to_do_not_pile_up(
    repository: GitRepository, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = commit(repository, {"a": b"1\n"})
    fresh = mirror(bare, tmp_path / "fresh")
    monkeypatch.setattr(git_repository, "_ALL_PULLS", 256 * 1024)
    for number in range(6):
        fresh.fetch_commit(a_head(bare, main, random.Random(number).randbytes(200 * 1024)))
    assert bounded_command.size_of_packs(tmp_path / "fresh") < 700 * 1024
    assert fresh.read_tree("main") == {"a": b"1\n"}


def test_a_head_that_was_dropped_is_not_known_any_more_and_comes_again(
    repository: GitRepository, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = commit(repository, {"a": b"1\n"})
    fresh = mirror(bare, tmp_path / "fresh")
    monkeypatch.setattr(git_repository, "_ALL_PULLS", 0)
    first, second = (a_head(bare, main, text) for text in (b"2\n", b"3\n"))
    fresh.fetch_commit(first)
    assert fresh.resolve(first) == first
    fresh.fetch_commit(second)
    assert fresh.resolve(first) is None
    fresh.fetch_commit(first)
    assert fresh.read_tree(first) == {"a": b"2\n"}


def test_what_is_reachable_from_a_branch_is_asked_of_its_present_tip(
    repository: GitRepository, bare: Path, tmp_path: Path
) -> None:
    fresh = mirror(bare, tmp_path / "fresh")
    old = commit(repository, {"a": b"1\n"})
    fresh.fetch()
    assert [fresh.is_ancestor(old, "main") for _ in range(2)] == [True, True]
    other = repository.write_commit(
        branch="main", expected=old, files={"b": b"2\n"}, message="anew", time=2, orphan=True
    )
    fresh.fetch()
    assert [fresh.is_ancestor(old, "main") for _ in range(2)] == [False, False]
    assert fresh.introduced_by("main", "b") == other
    assert fresh.introduced_by("main", "a") is None


def test_a_fetch_that_hangs_ends_with_all_its_processes(tmp_path: Path) -> None:
    packs = tmp_path / "objects" / "pack"
    packs.mkdir(parents=True)
    (packs / "tmp_pack_x").write_bytes(b"half")
    with subprocess.Popen(
        ["/bin/sh", "-c", "sleep 600 & wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        with pytest.raises(RepositoryError, match="it takes more than 1 seconds"):
            bounded_command.communicate_within(process, tmp_path, CommandBound(seconds=1, bytes=1))
        assert process.stdout is not None
        assert process.stdout.closed  # it was read to its end: nobody holds the other end any more
    assert list(packs.iterdir()) == []


@pytest.mark.parametrize("then", ["", "for k in objects/pack/*.keep; do rm ${k%keep}idx; done;"])
def test_a_fetch_that_ends_before_it_releases_its_pack_leaves_nothing(
    repository: GitRepository, bare: Path, tmp_path: Path, then: str
) -> None:
    """`git fetch` names its pack, keeps it from `git repack`, and looks at it; it ends in there."""
    main = commit(repository, {"a": b"1\n"})
    a_head(bare, main, random.Random(1).randbytes(4 * 1024 * 1024))
    pack = tmp_path / "all.pack"
    pack.write_bytes(Git(bare).run(["pack-objects", "--all", "--stdout", "-q"], stdin=b""))
    fresh = mirror(bare, tmp_path / "fresh")
    fresh.fetch()
    before = bounded_command.size_of_packs(tmp_path / "fresh")
    with (
        subprocess.Popen(
            ["/bin/sh", "-c", f"git index-pack --keep=x --stdin < {pack}; {then} sleep 600 & wait"],
            cwd=tmp_path / "fresh",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process,
        pytest.raises(RepositoryError, match="it brings more than 1 MiB"),
    ):
        bounded_command.communicate_within(
            process, tmp_path / "fresh", CommandBound(seconds=60, bytes=1024 * 1024)
        )
    Git(tmp_path / "fresh").run(["repack", "-a", "-d", "--quiet"])
    assert bounded_command.size_of_packs(tmp_path / "fresh") < before + 64 * 1024


def test_a_branch_in_the_way_of_another_is_named(bare: Path, repository: GitRepository) -> None:
    tip = commit(repository, {"a": b"1"})
    Git(bare).run(["update-ref", "refs/heads/gitbot/ledger/old", tip])
    with pytest.raises(RepositoryError, match="gitbot/ledger cannot be made") as caught:
        commit(repository, {"b": b"1"}, branch="gitbot/ledger")
    assert "gitbot/ledger/old" in caught.value.message
    assert caught.value.hint == "rename or delete the branch in its way"


_INTO_A_CLOSED_FOLDER = """
import sys
from pathlib import Path
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import RepositoryError

repository = GitRepository.clone(sys.argv[1], Path(sys.argv[2]))
tip = repository.resolve("main")
for write in (
    lambda: repository.rehearse_push("gitbot/ledger"),
    lambda: repository.write_commit(
        branch="main", expected=tip, files={"a": b"2"}, message="m", time=1
    ),
):
    try:
        write()
    except RepositoryError as error:
        print(" ".join(str(error).split()))
"""


def _without_roots_rights() -> None:
    """Root of a container may write into folders that are closed, unless it gives that up."""
    for right in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
        ctypes.CDLL(None).prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP


def test_a_remote_whose_folder_is_closed_is_no_matter_of_rules_or_hooks(
    bare: Path, repository: GitRepository, tmp_path: Path
) -> None:
    commit(repository, {"a": b"1"})
    folders = [bare, *(path for path in bare.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _INTO_A_CLOSED_FOLDER, str(bare), str(tmp_path / "other")],
            preexec_fn=_without_roots_rights,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        for folder in folders:
            folder.chmod(0o755)
    rehearsed, written = done.stdout.splitlines()
    assert rehearsed.startswith(f"gitbot/ledger cannot be pushed: this user may not write {bare}")
    assert written.startswith("the remote refuses to change main: ")
    assert written.endswith("see its free space, and who may write its folder")
