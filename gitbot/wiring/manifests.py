"""VM manifests outside the working tree's plain files: other repositories, and Kustomize."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gitbot.adapters.git import GitRepository, is_commit_id, remote_address
from gitbot.adapters.kustomize import build_kustomization, kustomize_program
from gitbot.adapters.working_tree import temporary_folder
from gitbot.errors import InvalidInput, RepositoryError, UnreachableError

NO_KUSTOMIZE = "neither kustomize nor kubectl is installed"


def files_elsewhere(root: Path, repository: str, ref: str) -> Mapping[str, bytes]:
    """All files of another repository at a branch, tag or commit. Raises RepositoryError."""
    remote = _remote(root, repository)
    with temporary_folder("manifests") as folder:
        found = GitRepository.clone(remote, folder / "mirror.git", only=(ref,))
        if found.resolve(ref) is None:
            _fetch_other(found, ref)
        return dict(found.read_tree(ref))


def _fetch_other(found: GitRepository, ref: str) -> None:
    """A commit by its whole id, or a tag."""
    try:
        if is_commit_id(ref):
            found.fetch_commit(ref)
        else:
            found.fetch_tag(ref)
    except UnreachableError:
        raise
    except RepositoryError as error:
        raise RepositoryError(f"there is no branch, tag or commit {ref}") from error


def _remote(root: Path, repository: str) -> str:
    """A path, an address, or the address of a remote's name."""
    if (root / repository).exists():
        return str((root / repository).resolve())
    return remote_address(root, repository) or repository


def built(files: Mapping[str, bytes], folder: str) -> bytes:
    """What Kustomize makes of one folder of these files. Raises InvalidInput."""
    program = kustomize_program()
    if not program:
        raise InvalidInput(NO_KUSTOMIZE)
    with temporary_folder("kustomize") as base:
        for path, data in files.items():
            target = base / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return build_kustomization(program, base / folder)
