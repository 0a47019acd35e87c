"""Where pull requests live."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from gitbot.documents import Path, Report, schemas, value_at
from gitbot.documents.fields import OneOf, Text, Value
from gitbot.documents.formats import branch_name
from gitbot.settings.forge_types import DEFAULT_FORGE, REPOSITORY_RULES

Branch = Annotated[
    str,
    AfterValidator(branch_name),
    Field(min_length=1, max_length=200),
    WithJsonSchema(schemas.BRANCH),
]


def _describe_repository(schema: dict[str, Any]) -> None:
    wanted = [f"{kind}: {rule.wanted}" for kind, rule in sorted(REPOSITORY_RULES.items())]
    schema["description"] = f"{'; '.join(wanted)}."


class ForgeSettings(Value):
    """Where pull requests live."""

    type: Annotated[str, OneOf(words=REPOSITORY_RULES.keys)] = Field(
        default=DEFAULT_FORGE, description="Kind of forge."
    )
    repository: Text = Field(default="origin", json_schema_extra=_describe_repository)
    address: str = Field(
        default="",
        max_length=300,
        description="gitea, gitlab: address of the server, such as https://git.example.org; "
        "default: GITBOT_GITEA_URL, GITBOT_GITLAB_URL.",
    )
    base_branch: Branch = Field(default="main", description="Protected branch of the intents.")
    required_reviews: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="Approvals that a merge needs; default: what the branch's rules say.",
    )


def check_repository(report: Report, value: Mapping[str, Any]) -> None:
    """The repository, by the rule of its forge; a type that is unknown has its own error."""
    path: Path = ("spec", "forge", "repository")
    name, kind = value_at(value, path), value_at(value, ("spec", "forge", "type"))
    known = kind if isinstance(kind, str) and kind in REPOSITORY_RULES else DEFAULT_FORGE
    if problem := REPOSITORY_RULES[known].problem(name if isinstance(name, str) else ""):
        found, hint = problem
        report.at_value(path, "repository", found, hint)
    _check_address(report, value, known)


def _check_address(report: Report, value: Mapping[str, Any], kind: str) -> None:
    """No password in it: a token comes from the environment."""
    path: Path = ("spec", "forge", "address")
    address = value_at(value, path)
    if not isinstance(address, str) or not address:
        return
    if not REPOSITORY_RULES[kind].has_address:
        found = f"found an address, which forge {kind} does not have"
        report.at_value(path, "address", found, "remove it")
    elif not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", address):
        found = "expected http:// or https://, a host, and no account in it"
        report.at_value(path, "address", found, "write it as https://git.example.org")
