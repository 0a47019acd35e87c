"""The site in a real browser, from disk: on a phone, on a wall, in the dark, by keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.reports.site import SiteDocuments, fleet_files, site_files
from tests.browser.accessibility import violations
from tests.browser.chromium import Page, opened
from tests.unit.reports.site import NOW, documents, pull
from tests.unit.reports.test_html import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
TEMPLATES = ShippedTexts().templates()
LONG = "a-very-long-name-of-a-virtual-machine-" * 6
STOP = {"reason": "held: cable work", "by": "ana", "since": NOW, "next": "gitbot resume"}
PAGES = (
    "index",
    "maintenance",
    "plans",
    "map",
    "zone-zone-0",
    "rules",
    "faults",
    "calendar",
    "moves",
)
SITES = {
    "quiet": documents(),
    "busy": documents(nodes=300, stop="held", stops=[STOP], pullRequests=[pull("Heal it")]),
    "odd": documents(name=HOSTILE, pullRequests=[pull(LONG)]),
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(params=list(SITES.values()), ids=list(SITES))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    found: SiteDocuments = request.param
    there = tmp_path / "iberia"
    there.mkdir()
    for name, content in site_files(found, templates=TEMPLATES).items():
        (there / name).write_bytes(content)
    for name, content in fleet_files(found.clusters, ["iberia"], templates=TEMPLATES).items():
        (tmp_path / name).write_bytes(content)
    return there


def pages(folder: Path) -> list[Path]:
    return [*(folder / f"{name}.html" for name in PAGES), min(folder.glob("node-*.html"))]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_closed_to_anybody(page: Page, folder: Path, scheme: str) -> None:
    page.scheme(scheme)
    page.width(1280)
    for file in (*pages(folder), folder.parent / "index.html"):
        page.open(file)
        assert violations(page) == [], file.name


@pytest.mark.parametrize("width", [390, 1280, 2560])
def test_no_page_scrolls_sideways(page: Page, folder: Path, width: int) -> None:
    page.width(width)
    for file in pages(folder):
        page.open(file)
        assert page.value("document.documentElement.scrollWidth") <= width, file.name


def test_the_slider_of_a_plan_needs_no_script(page: Page, folder: Path) -> None:
    page.width(1280)
    page.open(folder / "plans.html")
    shown = "[...document.querySelectorAll('{}')].filter(it => it.offsetParent !== null).length"
    found = []
    for step in range(4):
        page.value(f"document.getElementById('plan1s{step}').click()")
        found.append([page.value(shown.format(f".{kind}")) for kind in ("leaving", "arriving")])
        assert page.value(shown.format(".words")) == 1
    assert found == [[3, 0], [2, 1], [1, 2], [0, 3]]


def test_a_page_loads_nothing_and_complains_of_nothing(page: Page, folder: Path) -> None:
    page.complaints.clear()
    for file in pages(folder):
        page.open(file)
        assert page.value("performance.getEntriesByType('resource').length") == 0, file.name
        assert page.value("document.scripts.length") == 0
    assert page.complaints == []
