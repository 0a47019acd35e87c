"""Every code of a hold that the planner gives is listed in the reference."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_reference_lists_every_code() -> None:
    sources = [path.read_text() for path in sorted((ROOT / "gitbot/planner").rglob("*.py"))]
    given = {code for text in sources for code in re.findall(r'code="([a-z-]+)"', text)}
    checks = (ROOT / "gitbot/planner/checks.py").read_text()
    given |= set(re.findall(r'": "([a-z]+-[a-z-]+)",', checks))
    page = (ROOT / "docs/reference/plan.md").read_text()
    listed = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    assert given <= listed
    assert {"restart-needed", "no-target-pod", "kubevirt-update", "not-healed"} <= given
