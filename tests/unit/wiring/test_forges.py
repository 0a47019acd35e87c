"""The table of forges: its two halves agree, and what a type says is what its forge says."""

import pytest

from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.errors import UsageError
from gitbot.settings.forge_types import DEFAULT_FORGE, REPOSITORY_RULES
from gitbot.wiring.forges import FORGES, commented


def test_each_type_has_an_opener_and_a_rule_for_its_repository() -> None:
    assert FORGES.keys() == REPOSITORY_RULES.keys()
    assert DEFAULT_FORGE in FORGES


@pytest.mark.parametrize(("kind", "forge"), [("local", LocalForge), ("github", GitHubForge)])
def test_a_type_has_the_capabilities_of_its_forge(
    kind: str, forge: type[LocalForge | GitHubForge]
) -> None:
    assert FORGES[kind].capabilities == forge.capabilities


def test_without_a_ci_event_a_comment_needs_its_numbers() -> None:
    with pytest.raises(UsageError, match="give --issue and --comment, or run in a job that has"):
        commented({"GITHUB_EVENT_PATH": ""})
