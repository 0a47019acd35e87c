"""A word has one meaning: classes of different rooms have different names. Words are current."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.docs.scratch import ROOT

HOUSE = ROOT / "gitbot"


def room_of(path: Path) -> str:
    """The folder under gitbot, or the name of a module that stands beside the folders."""
    return path.relative_to(HOUSE).with_suffix("").parts[0]


def classes() -> Iterator[tuple[str, str]]:
    """Name and room of every class, nested and private ones included."""
    for path in sorted(HOUSE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name, room_of(path)


def test_no_two_rooms_have_a_class_of_the_same_name() -> None:
    rooms: defaultdict[str, set[str]] = defaultdict(set)
    for name, room in classes():
        rooms[name].add(room)
    assert {name: sorted(found) for name, found in rooms.items() if len(found) > 1} == {}


def commands() -> Iterator[tuple[str, str]]:
    """Each command as it is typed, and the name of the function that it runs."""
    for path in sorted((HOUSE / "cli" / "commands").glob("*.py")):
        nodes = ast.parse(path.read_text("utf-8")).body
        for node in (node for node in nodes if isinstance(node, ast.FunctionDef)):
            for call in node.decorator_list:
                match call:
                    case ast.Call(
                        func=ast.Attribute(attr="command" | "group"),
                        args=[ast.Constant(value=str(name)), *_],
                    ):
                        yield name, node.name


def test_a_commands_function_has_the_commands_name() -> None:
    found = dict(commands())
    assert {"plan", "keep-apart", "verify"} <= found.keys()
    other = {name: has for name, has in found.items() if name.replace("-", "_") != has}
    assert other.keys() == {"list", "eval"}, "only Python's own names are kept free"


ODD = re.compile(
    r"\b(anew|for ever|under way|thereof|whereof|lest|whoever)\b"
    r"|\b(also if|in mid-|asked by (a )?tests?)\b"
    r"|(?<!there )\b(is|are) no (?!longer\b|more\b|less\b)",
    re.IGNORECASE,
)
"""Words that are wrong wherever they occur; docs/contributing/style.md has what people judge."""
SHOWN = {"style.md"}  # it shows what to replace


def test_the_language_is_current() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("templates/**/*"), *ROOT.glob("changelog.d/*")]
    pages += [*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*"), *ROOT.glob("tests/**/*.md")]
    texts = [*HOUSE.rglob("*.py"), *(page for page in pages if page.name not in SHOWN)]
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts
        if path.is_file()
        for match in ODD.finditer(path.read_text("utf-8"))
    }
    assert found == set()
