"""The HTML report in a real browser: it opens from disk, shows everything, light and dark."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.reports.html.page import html
from tests.browser.accessibility import violations
from tests.browser.chromium import Page, opened
from tests.unit.reports.plans import HOLD, PLAN, move, vm
from tests.unit.reports.test_diff import diff
from tests.unit.reports.test_html import HOSTILE, moves

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
TEMPLATES = ShippedTexts().templates()
LONG = "a-very-long-name-of-a-virtual-machine-" * 6
SMALL = diff()
LARGE = diff(replace(PLAN, moves=moves(300, 1)))
ODD = diff(
    replace(
        PLAN,
        moves=(replace(move(), vm=vm(HOSTILE), why=HOSTILE), move(2, name=LONG, source=4, to=6)),
        holds=(replace(HOLD, reason=HOSTILE),),
    )
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(params=[SMALL, LARGE, ODD], ids=["small", "large", "odd"])
def report(request: pytest.FixtureRequest, page: Page, tmp_path: Path) -> Page:
    file = tmp_path / "report.html"
    file.write_text(html(request.param, templates=TEMPLATES), encoding="utf-8")
    page.complaints.clear()
    page.open(file)
    return page


def luminance(page: Page, selector: str, field: str) -> float:
    """Relative luminance (WCAG 2.2) of a colour as the browser computed it."""
    text = page.value(f"getComputedStyle(document.querySelector('{selector}')).{field}")
    channels = [int(part) / 255 for part in text.removeprefix("rgb(").rstrip(")").split(",")]
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(page: Page, ink: str, ground: str, field: str = "color") -> float:
    first = luminance(page, ink, field)
    second = luminance(page, ground, "backgroundColor")
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(report: Page, scheme: str) -> None:
    report.scheme(scheme)
    ground = luminance(report, "body", "backgroundColor")
    assert ground > 0.9 if scheme == "light" else ground < 0.1
    for ink, on in (("body", "body"), ("th", "th"), (".note", "body"), (".state", "header")):
        assert contrast(report, ink, on) >= 4.5, ink
    assert contrast(report, "svg .name", "header", "fill") >= 4.5
    assert len(report.screenshot()) > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_closed_to_nobody(report: Page, scheme: str) -> None:
    report.scheme(scheme)
    report.width(1280)
    assert violations(report) == []


@pytest.mark.parametrize("width", [1600, 1000, 380])
def test_no_picture_shrinks_until_its_words_are_unreadable(
    page: Page, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(html(SMALL, templates=TEMPLATES), encoding="utf-8")
    page.open(file)
    page.width(width)
    heights = page.value(
        "[...document.querySelectorAll('svg text')].filter(e => e.checkVisibility())"
        ".map(e => e.getBoundingClientRect().height)"
    )
    assert heights
    assert min(heights) >= 10  # pixels; what does not fit is scrolled to


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_scrolls_sideways(report: Page, scheme: str) -> None:
    """Neither the page nor a part of it: rows are cards, pictures have a narrow form."""
    report.scheme(scheme)
    report.width(390)
    assert report.value("document.documentElement.scrollWidth") <= 390
    wider = """
      [...document.querySelectorAll('section, .scroll, td')]
        .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).length
    """
    assert report.value(wider) == 0
    labels = "[...document.querySelectorAll('td')].filter(e => !e.dataset.label).length"
    assert report.value(labels) == 0
    for kind in ("small-board", "small-timeline"):
        assert report.value(f"document.querySelector('svg.{kind}').checkVisibility()")
    assert not report.value("document.querySelector('svg.board').checkVisibility()")
    report.width(1100)
    assert report.value("document.querySelector('svg.board').checkVisibility()")
    assert not report.value("document.querySelector('svg.small-board').checkVisibility()")


def test_what_scrolls_can_be_reached_with_the_keyboard(report: Page) -> None:
    report.width(1000)
    lost = """
      [...document.querySelectorAll('section, .scroll')]
        .filter(e => e.scrollWidth > e.clientWidth && e.tabIndex < 0).length
    """
    assert report.value(lost) == 0


@pytest.mark.parametrize("width", [1600, 1000, 380])
def test_the_page_never_scrolls_sideways(report: Page, width: int) -> None:
    report.width(width)
    assert report.value("document.documentElement.scrollWidth") <= width


def test_nothing_is_cut_off_on_paper(report: Page) -> None:
    width = 718  # of A4 between margins of 1 cm
    report.width(width)
    report.medium("print")
    try:
        rights = (
            "[...document.querySelectorAll('table, svg')].map(e => e.getBoundingClientRect().right)"
        )
        assert max(report.value(rights)) <= width
    finally:
        report.medium("")


def test_nothing_is_loaded_and_nothing_complains(report: Page) -> None:
    assert report.value("performance.getEntriesByType('resource').length") == 0
    assert report.value("document.scripts.length") == 0
    assert report.complaints == []


def test_every_move_is_drawn_inside_its_picture(report: Page) -> None:
    report.width(1100)
    outside = """
      (() => {
        const svg = document.querySelector('svg.board').getBoundingClientRect();
        return [...document.querySelectorAll('svg.board rect, svg.board path, svg.board text')]
          .map(shape => shape.getBoundingClientRect())
          .filter(box => box.left < svg.left - 1 || box.right > svg.right + 1
                      || box.top < svg.top - 1 || box.bottom > svg.bottom + 1).length;
      })()
    """
    assert report.value(outside) == 0
    lines = report.value("document.querySelectorAll('svg.board path.move').length")
    arrivals = report.value("document.querySelectorAll('svg.board g.arriving').length")
    assert lines == arrivals > 0


def test_a_bar_is_named_when_it_gets_the_focus(report: Page) -> None:
    """Every bar is reached with Tab, and its name is drawn inside the picture while it has it."""
    report.width(1100)
    report.call("Emulation.setFocusEmulationEnabled", enabled=True)
    bars = report.value("document.querySelectorAll('svg.timeline g.bar[tabindex=\"0\"]').length")
    assert bars == report.value("document.querySelectorAll('svg.timeline .tip').length") > 0
    shown = """
      (() => {
        const bars = [...document.querySelectorAll('svg.timeline g.bar')];
        const svg = document.querySelector('svg.timeline').getBoundingClientRect();
        return [bars[0], bars[bars.length - 1]].map(bar => {
          bar.focus();
          const seen = bars.filter(b => getComputedStyle(b.lastChild).visibility === 'visible');
          const box = bar.lastChild.getBoundingClientRect();
          return [seen.length, seen[0] === bar, bar.getAttribute('aria-label').length > 0,
                  box.left >= svg.left - 1 && box.right <= svg.right + 1,
                  box.bottom <= svg.bottom + 1];
        });
      })()
    """
    assert report.value(shown) == [[1, True, True, True, True]] * 2


def test_what_is_wrong_stands_before_the_pictures(report: Page) -> None:
    titles = report.value("[...document.querySelectorAll('h2')].map(title => title.textContent)")
    assert titles.index("Blocked") < titles.index("What moves") < titles.index("When")


def test_text_stays_in_its_box(report: Page) -> None:
    report.width(1100)
    wider = """
      [...document.querySelectorAll('svg.board g')].filter(chip =>
        chip.querySelector('text').getBoundingClientRect().right >
        chip.querySelector('rect').getBoundingClientRect().right + 1).length
    """
    assert report.value(wider) == 0
