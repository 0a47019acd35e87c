"""GitLab's CODEOWNERS: the last line of each section, defaults, exclusions, optional sections."""

import pytest

from gitbot.intents.gitlab_codeowners import gitlab_codeowners

README = """
* @admin

[README Owners]
README.md @user1 @user2
internal/README.md @user4

[README other owners]
README.md @user3
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", (("@admin",), ("@user1", "@user2"), ("@user3",))),
        ("internal/README.md", (("@admin",), ("@user4",), ("@user3",))),
        ("other", (("@admin",),)),
    ],
)
def test_each_section_has_owners_of_its_own(path: str, owners: tuple[tuple[str, ...], ...]) -> None:
    assert gitlab_codeowners(README, path) == owners


@pytest.mark.parametrize(
    ("pattern", "path", "owned"),
    [
        ("/README.md", "README.md", True), ("/README.md", "a/README.md", False),
        ("README.md", "a/b/README.md", True), ("in/README.md", "docs/in/README.md", True),
        ("/docs/", "docs/a/b.md", True), ("/docs/", "docs", False), ("docs/", "x/docs/a", True),
        ("docs", "docs/a.md", False),  # unlike GitHub: a name without a slash is a file
        ("/docs/*", "docs/a", True), ("/docs/*", "docs/a/b", False),
        ("/docs/**/i.md", "docs/i.md", True), ("/docs/**/i.md", "docs/a/b/i.md", True),
        ("/docs/*/i.md", "docs/api/i.md", True), ("/docs/*/i.md", "docs/i.md", False),
        ("/a?.yaml", "ab.yaml", True), ("/a?.yaml", "a/.yaml", False), ("*", ".hidden/x", True),
        ("/a\\ b", "a b", True), ("/[ab].yaml", "a.yaml", True), ("/[!ab].yaml", "a.yaml", False),
        ("\\#x", "#x", True), ("/a+b", "aab", False), ("/[z-a]", "z", False),
    ],
)  # fmt: skip
def test_patterns(pattern: str, path: str, owned: bool) -> None:
    assert gitlab_codeowners(f"{pattern} @a", path) == ((("@a",),) if owned else ())


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        ("[Docs] @docs\nx\n", (("@docs",),)),
        ("[Docs] @docs @more\nx @own\n", (("@own",),)),
        ("[Docs][2] @docs\nx\n", (("@docs",),)),
        ("^[Docs] @docs\nx\n", ()),
        ("^[Docs] @docs\nx\n[docs]\ny @y\n", (("@docs",),)),  # required elsewhere
        ("[Docs]\nx @a\n[DOCS]\nx @b\n", (("@b",),)),
        ("* @a\n!x\n", ()),
        ("!x\n* @a\n", ()),  # nothing takes it back
        ("* @a\n[b]\n* @b\n!x\n", (("@a",),)),
        ("* @a\nx\n", ()),  # a line without owners takes them away
        ("* @a # not @me\n", (("@a",),)),
        ("# * @a\n", ()),
        ("* a@b.org @@maintainer @g/h/i word\n", (("a@b.org", "@@maintainer", "@g/h/i"),)),
        ("* @a\n[b]\n* @a\n", (("@a",),)),
        ("\\\n[\n[]\n* @a\n", (("@a",),)),
    ],
)  # fmt: skip
def test_lines(text: str, owners: tuple[tuple[str, ...], ...]) -> None:
    assert gitlab_codeowners(text, "x") == owners
