"""What docs/reference/cli.md says about web servers is what gitbot's own does."""

import re
from pathlib import Path

from gitbot.service import server

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_a_web_server_sends_the_policy_that_gitbot_sends() -> None:
    (said,) = re.findall(
        r'add_header (Content-Security-Policy) "([^"]+)" always;', PAGE.read_text()
    )
    name, policy = said
    assert server._HEADERS[name] == policy
