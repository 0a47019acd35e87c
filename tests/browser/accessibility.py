"""What axe-core finds in a page that is open, by the rules of WCAG 2.1 and good practice."""

from importlib.resources import files
from typing import Any

from tests.browser.chromium import Page

_RUN = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"


def violations(page: Page) -> list[str]:
    """A line for each broken rule, with the elements that break it."""
    page.value(f"{files('axe_core_python').joinpath('axe.min.js').read_text('utf-8')};0")
    found: list[dict[str, Any]] = page.value(_RUN)
    return [
        f"{rule['id']}: {rule['help']}: {[node['html'][:120] for node in rule['nodes'][:3]]}"
        for rule in found
    ]
