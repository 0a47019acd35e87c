"""The pictures of the comment, drawn by Mermaid itself in a real browser as GitHub draws them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.reports.diff import Diff
from gitbot.reports.picture import picture
from tests.browser.chromium import Page, opened
from tests.browser.test_report import LARGE, ODD, SMALL
from tests.forge.npm import packages

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```mermaid\n(.*?)^```", re.DOTALL | re.MULTILINE)


def fenced(*patterns: str) -> list[object]:
    """Every Mermaid block of these pages, named by its page."""
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return [
        pytest.param(block, id=f"{path.relative_to(ROOT)}-{number}")
        for path in paths
        for number, block in enumerate(FENCED.findall(path.read_text(encoding="utf-8")))
    ]


IN_DOCS = fenced("README.md", "docs/**/*.md")
GOLDENS = fenced("tests/scenarios/*/expected/comment*.md")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with Mermaid loaded, as strict as GitHub runs it."""
    script = packages()["mermaid"].folder / "dist" / "mermaid.min.js"
    file = tmp_path_factory.mktemp("page") / "mermaid.html"
    file.write_text(f'<!doctype html><body><script src="{script.as_uri()}"></script>')
    with opened(tmp_path_factory.mktemp("profile")) as page:
        page.open(file)
        page.until("typeof mermaid === 'object'")
        page.value("mermaid.initialize({startOnLoad: false, securityLevel: 'strict'})")
        yield page


def drawn(page: Page, text: str) -> str:
    """The SVG of a diagram; fails with Mermaid's own message."""
    source = json.dumps(text)
    svg: str = page.value(f"mermaid.render('drawing', {source}).then(made => made.svg)")
    assert "Syntax error" not in svg
    return svg


@pytest.mark.parametrize("diff", [SMALL, LARGE, ODD], ids=["small", "large", "odd"])
def test_every_move_has_its_arrow(page: Page, diff: Diff) -> None:
    text = picture(diff)
    svg = drawn(page, text)
    arrows = len(re.findall(r"-->", text))
    assert len(re.findall(r"<path[^>]*flowchart-link", svg)) == arrows > 0


def test_hostile_names_are_shown_as_text(page: Page) -> None:
    svg = json.dumps(drawn(page, picture(ODD)))
    live = page.value(
        f"(() => {{ const box = document.createElement('div'); box.innerHTML = {svg};"
        " return box.querySelectorAll('img, script, a, [onerror]').length; })()"
    )
    assert live == 0


@pytest.mark.parametrize("text", GOLDENS)
def test_pictures_of_the_scenarios_are_drawn(page: Page, text: str) -> None:
    assert drawn(page, text).startswith("<svg")


@pytest.mark.parametrize("text", IN_DOCS)
def test_pictures_of_the_documentation_are_drawn(page: Page, text: str) -> None:
    assert drawn(page, text).startswith("<svg")
