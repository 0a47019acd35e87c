"""The pages agree with themselves, with the command line, and with the source."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
import yaml

from gitbot.cli.main import COMMANDS, EXAMPLES, cli
from gitbot.cli.shared.linting import lint
from gitbot.intents.registry import KINDS
from tests.docs.blocks import blocks
from tests.docs.scratch import ROOT

SKIPPED = {".git", ".venv", "node_modules"}
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not SKIPPED & set(path.relative_to(ROOT).parts)
    and path.relative_to(ROOT).parts[:2] != ("tests", "scenarios")
    and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]
CLI = (ROOT / "docs/reference/cli.md").read_text("utf-8")
FINDINGS = (ROOT / "docs/reference/findings.md").read_text("utf-8")
# the words of the product, each with one meaning
WORDS = (
    *("intent", "rule", "request", "window", "freeze", "occurrence", "snapshot", "problem"),
    *("plan", "move", "group", "wave", "hold", "stop flag", "concern", "finding", "verdict"),
    *("digest", "proposal", "ledger", "home", "forge", "executor"),
)
CONFIGURATION = b"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters: [{name: prod, timeZone: UTC}]
  allowAuto: true
"""


def anchor(heading: str) -> str:
    """The fragment that GitHub makes of a heading."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return words.replace(" ", "-")


def prose(text: str) -> str:
    """A page without its blocks and spans of code."""
    return re.sub(
        r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    )


def broken_links(page: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or not found.is_relative_to(ROOT):
            yield target
        elif fragment and found.suffix == ".md":
            text = found.read_text("utf-8")
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            if fragment not in {anchor(heading) for heading in headings}:
                yield target


@pytest.mark.parametrize("name", NAMES)
def test_relative_links_resolve(name: str) -> None:
    assert list(broken_links(ROOT / name)) == []


def test_readme_leads_to_every_page_of_docs() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        targets = re.findall(r"\]\(([^)\s:#]+)", prose(page.read_text("utf-8")))
        waiting += [(page.parent / target).resolve() for target in targets]
    docs = {path for path in PAGES if path.relative_to(ROOT).parts[0] == "docs"}
    assert sorted(path.name for path in docs - seen if path.parent.name != "adr") == []


FILE = re.compile(r"`((?:deploy|docs|examples|gitbot|policies|templates|tests)/[\w/.-]+\.\w+)`")


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_named_is_there(name: str) -> None:
    named = FILE.findall((ROOT / name).read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_cli_page_has_a_section_for_each_command_and_no_other() -> None:
    sections = re.findall(r"^### (\S+)$", CLI, re.MULTILINE)
    assert sorted(sections) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_section_has_an_example_of_its_command(name: str) -> None:
    section = re.split(r"^##", CLI.split(f"### {name}\n")[1], flags=re.MULTILINE)[0]
    assert re.search(rf"^gitbot {name}( |$)", section, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_ends_with_an_example(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert f"gitbot {name}" in f"{command.help}\n{command.epilog}"


@pytest.mark.parametrize("name", ["simulate", "policy", "ledger"])
def test_each_help_of_a_part_ends_with_an_example(name: str) -> None:
    group = cli.get_command(click.Context(cli), name)
    assert isinstance(group, click.Group)
    for part, command in group.commands.items():
        assert f"gitbot {name} {part}" in str(command.epilog), part


def examples() -> Iterator[tuple[str, str]]:
    """Every gitbot command that stands in a block for a shell, or at the end of a help."""
    for name, lines in EXAMPLES.items():
        yield from ((f"gitbot {name} --help", line[line.index("gitbot ") :]) for line in lines)
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for block in blocks(page):
            if block.language in ("sh", "console"):
                typed = re.sub(r"\\\n", " ", block.commands)
                for command in re.findall(r"^(?:\S*/)?gitbot .*$", typed, re.MULTILINE):
                    yield name, command


@pytest.mark.parametrize(("page", "typed"), sorted(set(examples())))
def test_every_command_that_is_shown_exists_with_its_options(page: str, typed: str) -> None:
    words = shlex.split(re.split(r" (?:&&|\|\|?|>|#) ?", typed)[0], comments=True)[1:]
    command: click.Command = cli
    context = click.Context(cli, info_name="gitbot")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no {typed}"
        command, words = found, words[1:]
    command.make_context("gitbot", words, parent=context, resilient_parsing="--help" in words)


@cache
def literals() -> frozenset[str]:
    """Every text that stands in the source."""
    return frozenset(
        node.value
        for path in (ROOT / "gitbot").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_every_finding_of_the_page_stands_in_the_source() -> None:
    codes = re.findall(r"^\| `([a-z]+/[a-z-]+)` \|", FINDINGS, re.MULTILINE)
    assert codes
    gone = [
        code
        for code in codes
        if code not in literals() and code.partition("/")[2] not in literals()
    ]
    assert gone == []


def test_every_hold_of_the_page_stands_in_the_source() -> None:
    page = (ROOT / "docs/reference/plan.md").read_text("utf-8")
    section = page.split("\n## Holds\n")[1].split("\n## ")[0]
    codes = re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)
    assert codes
    assert [code for code in codes if code not in literals()] == []


def test_the_glossary_has_every_word_once() -> None:
    page = (ROOT / "docs/glossary.md").read_text("utf-8")
    words = re.findall(r"^\| ([a-z ]+) \|", page, re.MULTILINE)
    assert [word for word in WORDS if word not in words] == []
    assert len(words) == len(set(words))


def intents() -> Iterator[tuple[str, str, int]]:
    """YAML blocks of docs/ and README that show whole intents or a whole configuration."""
    for name in NAMES:
        if name.startswith("docs/") or name == "README.md":
            for block in blocks(ROOT / name):
                if block.language == "yaml" and "apiVersion: placement.gitbot.dev" in block.text:
                    yield name, block.text, block.line


@pytest.mark.parametrize(
    ("name", "text", "line"), [pytest.param(*i, id=f"{i[0]}:{i[2]}") for i in intents()]
)
def test_intents_that_are_shown_lint_clean(name: str, text: str, line: int) -> None:
    files = {".gitbot.yaml": CONFIGURATION}
    kinds = {document["kind"] for document in yaml.safe_load_all(text)}
    if kinds == {"Configuration"}:
        files[".gitbot.yaml"] = text.encode()
    elif kinds == {"Cluster"}:
        files[".gitbot.yaml"] += b"  clustersFrom: clusters\n"
        files["clusters/shown.yaml"] = text.encode()
    elif kinds == {"PlacementProposal"}:
        files["intents/prod/gitbot/shown.yaml"] = text.encode()
    elif kinds <= set(KINDS):
        files["intents/prod/shown.yaml"] = text.encode()
    else:
        files["policies/shown.test.yaml" if "Test" in str(kinds) else "policies/shown.yaml"] = (
            text.encode()
        )
    assert [str(finding) for finding in lint(files)] == []
