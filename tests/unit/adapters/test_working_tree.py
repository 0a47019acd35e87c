"""A working tree that cannot be read is an error, and not an empty one."""

from pathlib import Path

import pytest

from gitbot.adapters.working_tree import read_working_tree
from gitbot.errors import RepositoryError

RULES = {"rules/a.yaml": b"a: 1\n", "rules/below/b.yml": b"b: 2\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, data in RULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_a_folder_and_a_file(root: Path) -> None:
    assert read_working_tree(root, "rules") == RULES
    assert read_working_tree(root, "rules/a.yaml") == {"rules/a.yaml": RULES["rules/a.yaml"]}
    assert read_working_tree(root, "nothing") == {}


@pytest.mark.parametrize("target", ["rules", "intents", "gone"])
def test_a_link_is_no_folder(root: Path, target: str) -> None:
    (root / "intents").symlink_to(target)
    with pytest.raises(RepositoryError, match="is a symbolic link; put what it leads to in"):
        read_working_tree(root, "intents")


def test_a_file_is_no_folder(root: Path) -> None:
    (root / "intents").write_text("a mishap")
    with pytest.raises(RepositoryError, match="intents cannot be read: Not a directory"):
        read_working_tree(root, "intents")


def test_a_link_to_nothing_is_not_passed_over(root: Path) -> None:
    (root / "rules/customapp").symlink_to("gone")
    with pytest.raises(RepositoryError, match="rules/customapp is a symbolic link"):
        read_working_tree(root, "rules")
