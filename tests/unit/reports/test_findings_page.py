"""findings.md lists every code of the source, plan.md those of holds, doctor.md those of checks."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "findings.md").read_text("utf-8")
DOCTOR = (ROOT / "docs" / "reference" / "doctor.md").read_text("utf-8")
HOLDS = (ROOT / "docs" / "reference" / "plan.md").read_text("utf-8")
ROOMS = (
    "calendar", "check", "constraints", "documents", "files", "intents", "ledger", "plan", "policy",
    "settings",
)  # fmt: skip
# Their checks are not findings.
FORGES = ("github", "gitea", "gitlab")
LOOKS = (
    "commands/doctor.py",
    "ask/doctor.py",
    "rest/clock_check.py",
    *(f"{name}/diagnosis.py" for name in FORGES),
)
CHECK = re.compile(r"(?:repository|configuration|ledger|snapshot|forge|cluster|kubevirt)/[a-z-]+")
CODE = re.compile(rf"(?:{'|'.join(ROOMS)})/[a-z]+(?:-[a-z]+)*")


def literals() -> Iterator[tuple[str, str]]:
    """Every `room/code` in the source; and every `code="…"` of a hold, as `plan/…`."""
    for path in sorted((ROOT / "gitbot").rglob("*.py")):
        if path.as_posix().endswith(LOOKS):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if CODE.fullmatch(node.value):
                    yield path.name, node.value
            elif isinstance(node, ast.Call) and "planner" in path.parts:
                for word in node.keywords:
                    if word.arg == "code" and isinstance(word.value, ast.Constant):
                        yield path.name, "plan/" + str(word.value.value)


def test_every_code_of_the_source_is_on_its_page() -> None:
    missing = [
        found
        for found in literals()
        if f"| `{found[1]}` |" not in PAGE
        and f"| `{found[1].removeprefix('plan/')}` |" not in HOLDS
    ]
    assert missing == []


def page_rows() -> Iterator[tuple[str, str, str]]:
    """Code, place and meaning of every row, without links; one that refers says the other's."""
    anchor, found = "", dict[str, tuple[str, str]]()
    for line in PAGE.splitlines():
        if line.startswith("## "):
            anchor = re.sub(r"[^a-z0-9 -]", "", line[3:].lower()).replace(" ", "-")
        row = re.fullmatch(r"\| `([a-z]+/[^`<]+)` \| [^|]+ \| (.*) \|", line)
        if row:
            meaning = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", row[2])
            found[row[1]] = (f"findings.md#{anchor}", meaning)
    holds = HOLDS.partition("## Holds")[2].partition("\n## ")[0]
    for code, meaning in re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", holds, re.MULTILINE):
        found[f"plan/{code}"] = ("plan.md#holds", meaning)
    for code, (place, meaning) in sorted(found.items()):
        other = re.fullmatch(r"as `([^`]+)`", meaning)
        yield code, place, found[other[1]][1] if other else meaning


def test_what_sarif_says_of_a_code_is_what_its_page_says() -> None:
    shipped = (ROOT / "templates" / "findings.tsv").read_text("utf-8").splitlines()
    assert [tuple(line.split("\t")) for line in shipped] == list(page_rows())


def test_every_check_of_doctor_is_on_its_page_and_no_other() -> None:
    stated = set(re.findall(r"^\| `([^`]+)` \|", DOCTOR, re.MULTILINE))
    asked = {
        node.value
        for path in (ROOT / "gitbot").rglob("*.py")
        if path.as_posix().endswith(LOOKS)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CHECK.fullmatch(node.value)
    }
    assert asked == stated
