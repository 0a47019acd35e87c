"""README and tutorial, typed as they stand by somebody who has just installed gitbot."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.blocks import Block, absent, blocks
from tests.docs.scratch import ROOT, Scratch

MARKS = {"", "file", "runnable", "serve"}
SERVE = "gitbot demo --serve --no-story --factor 1 --dir cluster"


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    (tmp_path / "walk").mkdir()
    return Scratch(folder=tmp_path / "walk", state=tmp_path / "state")


def walk(page: str, scratch: Scratch) -> Iterator[str]:
    """What went otherwise than the page says. Stops there: what follows builds on it."""
    with ExitStack() as open_things:
        for block in blocks(ROOT / page):
            if block.mark == "serve":
                open_things.enter_context(scratch.serving(block.commands.strip()))
            elif block.mark == "file":
                write(scratch.here / block.argument, block.text)
            elif block.mark == "runnable":
                trouble = carry_out(block, scratch)
                if trouble:
                    yield f"{page}:{block.line}: {trouble}"
                    return


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def carry_out(block: Block, scratch: Scratch) -> str:
    code, printed = scratch.run(block.commands)
    if code != block.exit_code:
        return f"exit code {code}, the page says {block.exit_code}; it printed\n{printed}"
    missing = absent(block.output, printed)
    return f"not printed: {missing[0]!r}; it printed\n{printed}" if missing else ""


@pytest.mark.timeout(900)
def test_the_tutorial(scratch: Scratch) -> None:
    assert list(walk("docs/tutorial.md", scratch)) == []
    assert {path.name for path in scratch.folder.iterdir()} == {"cluster", "forge.git", "placement"}


@pytest.mark.timeout(600)
def test_the_readme(scratch: Scratch) -> None:
    with scratch.serving(SERVE):
        scratch.run("export KUBECONFIG=$PWD/cluster/kubeconfig")
        assert list(walk("README.md", scratch)) == []


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_marks_are_known_and_used(page: str) -> None:
    found = {block.mark for block in blocks(ROOT / page)}
    assert found <= MARKS
    assert "runnable" in found


@pytest.mark.parametrize(
    ("expected", "printed", "missing"),
    [
        ((), "anything", []),
        (("a  b",), "x\na b\n", []),
        (("b", "a"), "a\nb\n", ["a"]),
        (("at 2026-12-06T21:00:00Z",), "at 2027-01-01T00:00:00Z", []),
        (("deleted: …",), "deleted: x y z", []),
        (("1 moved",), "11 moved", ["1 moved"]),
    ],
)
def test_output_is_held_to_the_page(
    expected: tuple[str, ...], printed: str, missing: list[str]
) -> None:
    assert absent(expected, printed) == missing
