"""Lines of CODEOWNERS, as GitHub's page "About code owners" explains them."""

import pytest

from gitbot.intents.codeowners import codeowners

TEXT = r"""
# comment
*            @global
*.yaml       @yaml @acme/yaml
/build/logs/ @logs
docs/*       docs@example.com
apps/        @apps
/intents/    @intents  # of all clusters
/intents/prod/customapp/ @acme/customapp
/intents/prod/free/
/intents/prod/*/shared.yaml @shared
**/secrets   @secrets
intents/**/deep @deep
!intents     @never
[Section]    @never
/intents/prod/wrong not-an-owner
/intents/prod/two\ words/ @two
/intents/prod/a\*c @star
/intents/prod/\#x @never
/intents/prod/open\
"""
LINES = [
    ("README", ("@global",)),
    ("a/b/c.yaml", ("@yaml", "@acme/yaml")),
    ("build/logs/x/y", ("@logs",)),
    ("sub/build/logs/x", ("@global",)),
    ("docs/page.md", ("docs@example.com",)),
    ("docs/sub/page.md", ("@global",)),
    ("x/apps/y/z", ("@apps",)),
    ("apps", ("@global",)),
    ("intents/prod/x.txt", ("@intents",)),
    ("intents/prod/customapp/deeper/x.yaml", ("@acme/customapp",)),
    ("intents/prod/customapp-2/x.yaml", ("@intents",)),
    ("intents/prod/free/x.yaml", ()),
    ("intents/prod/customapp/shared.yaml", ("@shared",)),
    ("intents/prod/a/b/shared.yaml", ("@intents",)),
    ("a/b/secrets/key", ("@secrets",)),
    ("intents/a/b/deep/x", ("@deep",)),
    ("intents/deep", ("@deep",)),
    ("intents/prod/wrong", ("@intents",)),
    ("intents/prod/two words/x.yaml", ("@two",)),
    ("intents/prod/two/x.yaml", ("@intents",)),
    ("intents/prod/a*c/x", ("@star",)),
    ("intents/prod/abc/x", ("@intents",)),
    ("intents/prod/#x", ("@intents",)),
    ("intents/prod/open", ("@intents",)),
]


@pytest.mark.parametrize(("path", "owners"), LINES)
def test_the_last_matching_line_wins(path: str, owners: tuple[str, ...]) -> None:
    assert codeowners(TEXT, path) == owners


def test_a_file_that_github_does_not_read_owns_nothing() -> None:
    assert codeowners(f"* @all\n{'#' * 3 * 1024 * 1024}", "x") == ()
    assert codeowners("", "x") == ()


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_a_line_ends_where_a_review_shows_its_end(end: str) -> None:
    assert codeowners(f"* @all\n# a comment{end}* @evil\r\n", "x") == ("@all",)
    assert codeowners(f"* @all\n* @all{end}@evil", "x") == ("@all",)
