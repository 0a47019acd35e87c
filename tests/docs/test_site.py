"""The documentation as a site: built as `make docs` builds it, and read from disk in a browser."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.accessibility import violations
from tests.browser.chromium import Page, opened
from tests.docs.scratch import ROOT

pytestmark = [pytest.mark.docs, pytest.mark.xdist_group("docs")]
LOADED = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "track", "video"}
DRAWN = "README.html", "docs/how-a-plan-is-made.html", "docs/architecture.html"
FOREIGN = {
    *("aria-required-attr", "landmark-unique", "page-has-heading-one"),  # the theme's
    *("aria-roledescription", "aria-roles"),  # Mermaid's, of WAI-ARIA Graphics
}
READ = "docs/README.html", "docs/reference/cli.html", "search.html", *DRAWN


class Links(HTMLParser):
    """What a page has (anchors), points to, and loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src", "data", "poster"):
                (self.loaded if tag in LOADED else self.targets).append(value or "")


links = cache(Links)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every page, with a warning as an error."""
    folder = tmp_path_factory.mktemp("docs")
    command = ["-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-c", "docs/site"]
    command += ["-d", str(folder / "doctrees"), ".", str(folder / "site")]
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened(tmp_path_factory.mktemp("profile")) as page:
        page.width(390)
        yield page


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def broken(page: Path) -> Iterator[str]:
    found = links(page)
    for target in (*found.targets, *found.loaded):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not path.is_file() or (
            path.suffix == ".html" and unquote(parts.fragment) not in links(path).anchors
        ):
            yield f"{page.name}: {target}"


def test_no_link_and_no_anchor_is_broken(site: Path) -> None:
    assert len(pages(site)) > 100
    assert [said for page in pages(site) for said in broken(page)] == []


def test_no_page_names_another_host_to_load_from(site: Path) -> None:
    asked = [said for page in pages(site) for said in links(page).loaded]
    assert asked
    assert [said for said in asked if urlsplit(said).scheme not in ("", "data")] == []
    assert [said for said in asked if urlsplit(said).netloc] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", styles) == []


def test_every_page_of_docs_is_in_the_navigation(site: Path) -> None:
    sources = {path.relative_to(ROOT).with_suffix("") for path in ROOT.glob("docs/**/*.md")}
    built = {path.relative_to(site).with_suffix("") for path in pages(site)}
    assert sources <= built


def test_a_phone_reads_every_page_and_asks_no_other_host(page: Page, site: Path) -> None:
    page.complaints.clear()
    for path in set(pages(site)) - {site / "index.html"}:  # which leads to another one
        page.open(path)
        assert page.value("document.documentElement.scrollWidth") <= 390, path.name
        asked = page.value("performance.getEntriesByType('resource').map(one => one.name)")
        assert [name for name in asked if not name.startswith("file:///")] == []
    assert page.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_readable(page: Page, site: Path, scheme: str) -> None:
    page.scheme(scheme)
    for name in READ:
        page.open(site / name)
        ours = [said for said in violations(page) if said.partition(":")[0] not in FOREIGN]
        assert ours == [], name
    ground = page.value("getComputedStyle(document.body).backgroundColor")
    red = int(re.findall(r"\d+", ground)[0])
    assert (red < 64) == (scheme == "dark")


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_are_drawn(page: Page, site: Path, name: str) -> None:
    page.open(site / name)
    count = page.value("document.querySelectorAll('.mermaid').length")
    assert count
    page.until(f"document.querySelectorAll('.mermaid > svg').length === {count}")


def test_the_search_finds_from_disk(page: Page, site: Path) -> None:
    page.call("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q=scale-down")
    page.until("document.querySelectorAll('#search-results li a').length > 0")


def test_the_first_page_leads_to_the_documentation(site: Path) -> None:
    (target,) = re.findall(r"url=([^\"]+)", (site / "index.html").read_text("utf-8"))
    assert (site / target).is_file()
