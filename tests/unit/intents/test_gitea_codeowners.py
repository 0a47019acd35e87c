"""Gitea's own grammar of CODEOWNERS; tests/forge/gitea compares it with a server."""

import pytest

from gitbot.intents.gitea_codeowners import gitea_codeowners

CASES = (
    (r".*", "intents/prod/a.yaml", True),
    (r"intents/prod", "intents/prod/a.yaml", False),  # the whole path, not a folder
    (r"intents/prod/.*", "intents/prod/a.yaml", True),
    (r"/intents/prod/.*", "intents/prod/a.yaml", True),
    (r".*\\.yaml", "intents/a.yaml", True),
    (r".*\.yaml", "intents/axyaml", True),  # one backslash is gone before the expression
    (r".*\\.yaml", "intents/axyaml", False),
    (r"docs/.*|intents", "docs/x", True),
    (r"docs/.*|intents", "my/intents", True),  # not anchored in front
    (r"!docs/.*", "intents/a.yaml", True),
    (r"!docs/.*", "docs/x", False),
    (r"(?!docs/).*", "docs/x", False),
    (r"a\ b", "a b", True),
    (r"x#.*", "x#y", False),  # a comment begins at any #
    (r"x\#y", "x#y", True),
    (r"[", "[", False),
)


@pytest.mark.parametrize(("expression", "path", "owned"), CASES)
def test_which_paths_a_line_takes(expression: str, path: str, owned: bool) -> None:
    found = gitea_codeowners(f"{expression} @ann\n", path)
    assert found == (("@ann",) if owned else ())


def test_the_owners_of_all_lines_count() -> None:
    text = "# who\n.*\t@ann bob\nintents/.* @acme/dba @ann\nintents/a.yaml\n"
    assert gitea_codeowners(text, "intents/a.yaml") == ("@ann", "@bob", "@acme/dba")
    assert gitea_codeowners(text, "README.md") == ("@ann", "@bob")
    assert gitea_codeowners("", "README.md") == ()
