"""The files beside the configuration: clusters may be in files of their own."""

from __future__ import annotations

from gitbot.ports.repository import Repository
from gitbot.settings import Beside


def beside_at(repository: Repository, rev: str) -> Beside:
    """The files beside the configuration at a commit or tree."""
    return lambda folder: repository.read_tree(rev, f"{folder}/")
