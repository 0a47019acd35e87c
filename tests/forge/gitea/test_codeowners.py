"""Which owners Gitea asks for a review is what gitbot reads in the same CODEOWNERS."""

import base64
from urllib.parse import quote

import pytest

from gitbot.intents.gitea_codeowners import gitea_codeowners
from tests.forge.gitea.server import OWNER, Gitea, OwnGitea
from tests.unit.intents.test_gitea_codeowners import CASES

pytestmark = [pytest.mark.forge, pytest.mark.xdist_group("gitea")]


def write(gitea: Gitea, repository: str, path: str, text: str, *, branch: str = "") -> None:
    body = {"content": base64.b64encode(text.encode()).decode(), "branch": "main"}
    to = {"new_branch": branch} if branch else {}
    gitea.do(OWNER, "POST", f"/repos/{repository}/contents/{quote(path)}", {**body, **to})


def test_gitea_asks_the_owners_that_gitbot_reads(own_gitea: OwnGitea) -> None:
    gitea = own_gitea
    repository = gitea.add_repository(auto_init=True)
    expressions = list(dict.fromkeys(expression for expression, _, _ in CASES))
    lines = []
    for number, expression in enumerate(expressions):
        gitea.token(f"owner-{number}")
        lines.append(f"{expression} @owner-{number}")
    text = "\n".join(lines)
    write(gitea, repository, "CODEOWNERS", text)
    for number, path in enumerate(dict.fromkeys(path for _, path, _ in CASES)):
        write(gitea, repository, path, "x", branch=f"b{number}")
        pull = {"head": f"b{number}", "base": "main", "title": path}
        made = gitea.do(OWNER, "POST", f"/repos/{repository}/pulls", pull)
        found = gitea.do(OWNER, "GET", f"/repos/{repository}/pulls/{made['number']}")
        asked = {f"@{user['login']}" for user in found["requested_reviewers"]}
        assert asked == set(gitea_codeowners(text, path)), path
