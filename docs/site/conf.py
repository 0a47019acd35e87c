"""The documentation as a site, by Sphinx: `make docs`. The pages stay plain Markdown.

What Sphinx asks a page to say and GitHub would show as it is, comes from here: the sections of
docs/README.md become the navigation, and a block of Mermaid becomes a picture.
"""

import re
import sys
from html import escape
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.forge.npm import folder_of  # noqa: E402 - the root of the tree is found above

project = "gitbot"
html_title = "gitbot"
root_doc = "docs/README"
extensions = ["myst_parser"]
exclude_patterns = ["deploy/chart"]  # its folders are links to the others
include_patterns = [
    "*.md",
    "deploy/**",
    "docs/**",
    "examples/**",
    "tests/*/NOTES.md",
    "tests/recordings/*/README.md",
    *(f"tests/scenarios/{name}/README.md" for name in ("b16_*", "b19_*", "rack", "w*")),
]
myst_heading_anchors = 6
myst_fence_as_directive = ["mermaid"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "first.html"}
templates_path = ["templates"]
html_copy_source = False
html_use_index = False
html_show_search_summary = False  # a page that is opened from a file may not read another one
FOLDERS = {
    "docs/adr/README": "*",
    "docs/reference/intents/README": "*",
    "docs/reference/policies": "policies/**",
    "examples/README": "*/README",
}
"""Pages that stand for a folder, and the pages below them."""


class Mermaid(SphinxDirective):
    """A picture that the reader's browser draws, from a script of this site."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        text = escape("\n".join(self.content))
        return [nodes.raw("", f'<pre class="mermaid">{text}</pre>\n', format="html")]


def navigation(text: str) -> str:
    """A table of contents for each section of links."""
    made = ""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^- \[(.+)\]\((.+)\.md\)", section, re.MULTILINE)
        entries = "\n".join(f"{words} <{path}>" for words, path in rows)
        made += f"```{{toctree}}\n:hidden:\n:caption: {section.splitlines()[0]}\n\n{entries}\n```\n"
    return made


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == root_doc:
        source[0] += "\n" + navigation(source[0])
    elif docname in FOLDERS:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{FOLDERS[docname]}\n```\n"
    elif PurePosixPath(docname).parts[0] == "tests":  # a page of the documentation links it
        app.env.metadata[docname]["orphan"] = "yes"


def finish(app: Sphinx, _page: str, _template: str, context: dict[str, str], _tree: object) -> None:
    body = context.get("body", "")
    wide = r'<(pre|div(?= class="table-wrapper))\b'  # it scrolls by keyboard, too
    context["body"] = re.sub(wide, r'<\1 tabindex="0"', body)
    if '<pre class="mermaid"' in body:
        app.add_js_file("mermaid.min.js")
        app.add_js_file("pictures.js")


def setup(app: Sphinx) -> None:
    folder = folder_of("mermaid")
    if folder is None:
        sys.exit("Mermaid was not fetched: make docs")
    html_static_path.append(str(folder / "dist"))
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", read)
    app.connect("html-page-context", finish)
