"""The configuration of a clone from an archive or another account runs and decides nothing."""

import gc
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git import (
    Git,
    GitRepository,
    RefState,
    author_of,
    copy_fetched,
    isolated_clone,
    remote_address,
)
from gitbot.errors import RepositoryError
from gitbot.ports.forge import MergeMethod
from tests.contracts.forges import StepClock

LINES = "".join(f"{number}\n" for number in range(20))

PROGRAMS = [
    "core.alternateRefsCommand", "core.askPass", "core.editor", "core.fsmonitor", "core.gitProxy",
    "core.hooksPath", "core.pager", "core.sshCommand", "credential.helper",
    "credential.https://h.helper", "diff.external", "diff.x.command", "diff.x.textconv",
    "difftool.x.cmd", "filter.x.clean", "filter.x.process", "filter.x.smudge", "gpg.program",
    "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "gpg.x509.program", "interactive.diffFilter",
    "log.showSignature", "man.x.cmd", "merge.x.driver", "mergetool.x.cmd", "pager.config",
    "pager.log", "pager.show", "receive.procReceiveRefs", "remote.origin.receivepack",
    "remote.origin.uploadpack", "remote.origin.vcs", "sequence.editor", "sendemail.sendmailCmd",
    "ssh.variant", "tar.x.command", "trailer.x.cmd", "trailer.x.command", "trace2.eventTarget",
    "uploadpack.packObjectsHook", "web.browser", "alias.log", "alias.config", "alias.ls-tree",
    "alias.rev-parse", "browser.x.cmd", "guitool.x.cmd", "submodule.x.update",
    "blame.ignoreRevsFile", "core.attributesFile", "core.excludesFile", "commit.template",
]  # fmt: skip
ANSWERS = {
    "core.ignoreCase": "true",
    "core.quotePath": "true",
    "core.bare": "true",
    "core.worktree": "/",
    "core.abbrev": "4",
    "core.commitGraph": "false",
    "core.useReplaceRefs": "true",
    "core.bigFileThreshold": "1",
    "core.notesRef": "refs/heads/main",
    "core.logAllRefUpdates": "always",
    "core.sharedRepository": "0777",
    "core.repositoryFormatVersion": "1",
    "diff.renames": "copies",
    "diff.orderFile": "/etc/hostname",
    "extensions.worktreeConfig": "true",
    "extensions.partialClone": "origin",
    "format.pretty": "oneline",
    "http.proxy": "http://127.0.0.1:1",
    "i18n.logOutputEncoding": "UTF-16",
    "log.follow": "true",
    "log.diffMerges": "off",
    "log.mailmap": "true",
    "log.date": "unix",
    "merge.conflictStyle": "diff3",
    "merge.directoryRenames": "true",
    "merge.renames": "false",
    "merge.default": "x",
    "merge.renormalize": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.origin.promisor": "true",
    "safe.directory": "*",
    "transfer.hideRefs": "refs/heads",
    "transfer.fsckObjects": "false",
    "uploadpack.hideRefs": "refs/heads",
    "url.ext::sh.insteadOf": "/",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@b.c", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def committed(folder: Path, text: str) -> str:
    (folder / "a").write_text(text, encoding="ascii")
    (folder / ".gitattributes").write_text("* merge=x filter=x diff=x\n", encoding="ascii")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "m\u00e4")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone whose `main` and `head` merge, as it came."""
    folder = tmp_path_factory.mktemp("archive") / "clone"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    first = committed(folder, LINES)
    committed(folder, f"{LINES}end\n")
    git(folder, "checkout", "--quiet", "-b", "head", first)
    committed(folder, f"begin\n{LINES}")
    git(folder, "update-ref", "refs/remotes/origin/main", "main")
    git(folder, "config", "remote.origin.url", "/srv/intents.git")
    git(folder, "config", "user.name", "ada")
    shutil.rmtree(folder / ".git" / "hooks")
    return folder


@pytest.fixture
def clone(archive: Path, tmp_path: Path) -> Path:
    return shutil.copytree(archive, tmp_path / "clone")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program"
    path.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/ran\n', encoding="ascii")
    path.chmod(0o755)
    return path


def answers(folder: Path) -> list[object]:
    """What gitbot asks a person's clone."""
    clone = GitRepository.of_work_tree(folder)
    main, head = clone.resolve("main"), clone.resolve("head")
    assert main is not None
    assert head is not None
    merged = clone.merge_trees(main, head)
    assert merged is not None
    return [
        clone.read_tree(merged),
        [commit.message for commit in clone.log("main", path="a")],
        clone.introduced_by("main", "a"),
        clone.merge_base(main, head),
        remote_address(folder, "origin"),
        author_of(folder)[0],
    ]


@pytest.fixture(scope="module")
def plain(archive: Path) -> list[object]:
    return answers(archive)


@pytest.mark.parametrize("key", [*PROGRAMS, *ANSWERS, "include.path", "includeIf.gitdir:/.path"])
def test_no_key_of_a_clone_runs_or_decides_anything(
    clone: Path, program: Path, plain: list[object], key: str
) -> None:
    value = ANSWERS.get(key, str(program))
    if key.startswith("include"):
        more = clone / "more"
        more.write_text(f'[merge "x"]\n\tdriver = {program} %A\n[user]\n\tname = eve\n')
        value = str(more)
    git(clone, "config", key, value)
    assert answers(clone) == plain
    assert not (clone.parent / "ran").exists()


def test_no_key_of_a_local_forge_runs_anything(clone: Path, program: Path) -> None:
    for key in PROGRAMS:
        git(clone, "config", key, str(program))
    git(clone, "config", "merge.default", "x")
    copy_fetched(clone, "origin", clone.parent / "copy.git")
    forge = LocalForge(clone / ".git", clock=StepClock())
    pull = forge.open_pull(branch="head", base_branch="main", title="t", body="", labels=())
    merged = forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=pull.head)
    assert merged.merge_commit
    main = GitRepository.of_work_tree(clone)
    assert main.read_tree("main", "a") == {"a": f"begin\n{LINES}end\n".encode()}
    assert not (clone.parent / "ran").exists()


@pytest.mark.parametrize(
    "name", ["pre-push", "reference-transaction", "post-index-change", "pre-auto-gc", "post-merge"]
)
def test_no_hook_of_a_clone_runs(
    clone: Path, program: Path, plain: list[object], name: str
) -> None:
    (clone / ".git" / "hooks").mkdir()
    shutil.copy(program, clone / ".git" / "hooks" / name)
    assert answers(clone) == plain
    assert not (clone.parent / "ran").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.sshCommand", "{program}"),
        ("remote.origin.uploadpack", "{program}"),
        ("remote.origin.vcs", "program"),
        ("remote.origin.url", "ext::{program}"),
    ],
)
def test_a_missing_object_is_an_error_and_no_fetch(
    clone: Path, program: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    """A promisor remote would be asked for it, by a program that the configuration names."""
    shutil.copy(program, program.parent / "git-remote-program")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    blob = git(clone, "rev-parse", "main:a")
    url = str(clone) if key == "remote.origin.uploadpack" else "ssh://example.org/intents.git"
    for name, said in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
        "remote.origin.promisor": "true",
        "remote.origin.url": url,
        key: value.format(program=program),
    }.items():
        git(clone, "config", name, said)
    (clone / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RepositoryError, match="a is missing in this clone") as caught:
        GitRepository.of_work_tree(clone).read_tree("main")
    assert caught.value.hint == "in a partial clone: git fetch --refetch --no-filter"
    with suppress(RepositoryError):
        copy_fetched(clone, "origin", clone.parent / "copy.git")
    with pytest.raises(RepositoryError, match="missing"):
        RefState(Git.of_repository(clone / ".git"), "refs/heads/main").read()
    with suppress(RepositoryError):  # also in a repository of our own
        Git(clone / ".git").run(["cat-file", "blob", blob])
    assert not (clone.parent / "ran").exists()


def test_objects_of_another_repository_are_refused(clone: Path, archive: Path) -> None:
    alternates = clone / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{archive}/.git/objects\n", encoding="utf-8")
    with pytest.raises(RepositoryError, match="borrows from another repository"):
        GitRepository.of_work_tree(clone)
    assert remote_address(clone, "origin") == "/srv/intents.git"  # in no object
    alternates.unlink()
    shutil.rmtree(clone / ".git" / "objects")
    (clone / ".git" / "objects").symlink_to(archive / ".git" / "objects")
    with pytest.raises(RepositoryError, match="objects is a symbolic link"):
        GitRepository.of_work_tree(clone)


def test_a_clone_of_another_account_is_refused_unless_the_person_trusts_it(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_clone, "_owner", lambda _path: os.geteuid() + 1)
    with pytest.raises(RepositoryError, match="belongs to another account") as caught:
        GitRepository.of_work_tree(clone)
    command = f"git config --global --add safe.directory {clone}"
    assert caught.value.hint == f"run gitbot as its owner, or trust it: {command}"
    git(clone, "config", "safe.directory", "*")  # not the clone's to say
    with pytest.raises(RepositoryError, match="belongs to another account"):
        remote_address(clone, "origin")
    own = tmp_path / "own"
    own.write_text(f"[safe]\n\tdirectory = {clone}\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert remote_address(clone, "origin") == "/srv/intents.git"


def test_linked_work_trees_and_other_formats_are_read(
    clone: Path, plain: list[object], tmp_path: Path
) -> None:
    git(clone, "worktree", "add", "--quiet", str(tmp_path / "linked"), "main")
    git(clone, "pack-refs", "--all")
    assert answers(tmp_path / "linked") == plain
    here = GitRepository.of_work_tree(tmp_path / "linked")
    assert here.resolve("HEAD") == here.resolve("main")
    other = tmp_path / "sha256"
    other.mkdir()
    git(other, "init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    tip = committed(other, LINES)
    assert GitRepository.of_work_tree(other).resolve("main") == tip


def test_the_person_s_own_configuration_names_the_person(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(clone, "config", "--unset", "user.name")
    (tmp_path / "work").write_text("[user]\n\tname = grace\n", encoding="utf-8")
    own = tmp_path / "own"
    condition = f'[includeIf "gitdir:{clone}/"]\n\tpath = {tmp_path}/work\n'
    own.write_text(f"[user]\n\tname = ada\n{condition}", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert author_of(clone)[0] == "grace"
    assert author_of(tmp_path)[0] == "ada"


def test_one_key_of_the_configuration_is_read_without_a_copy_of_the_clone(
    clone: Path, plain: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(isolated_clone, "_check_objects", made.append)
    assert remote_address(clone / "missing", "origin") == "/srv/intents.git"
    assert author_of(clone)[0] == plain[-1]
    assert made == []


def test_nothing_of_it_stays(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    git = Git.of_work_tree(clone)
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    del git
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []
