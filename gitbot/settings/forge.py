"""Where pull requests live."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from gitbot.documents import Path, Report, schemas, shown, value_at
from gitbot.documents.fields import Text, Value
from gitbot.documents.formats import branch_name, is_github_repository

Branch = Annotated[
    str,
    AfterValidator(branch_name),
    Field(min_length=1, max_length=200),
    WithJsonSchema(schemas.BRANCH),
]


class ForgeSettings(Value):
    """Where pull requests live."""

    type: Literal["local", "github"] = Field(default="local", description="Kind of forge.")
    repository: Text = Field(
        default="origin",
        description="github: owner/name or origin; local: path or remote of a bare repository.",
    )
    base_branch: Branch = Field(default="main", description="Protected branch of the intents.")
    required_reviews: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="Approvals that a merge needs; default: what the branch's rules say.",
    )


def check_repository(report: Report, value: Mapping[str, Any]) -> None:
    """On GitHub `owner/name`, or the default; locally no address, which may hold a password."""
    path: Path = ("spec", "forge", "repository")
    name, kind = value_at(value, path), value_at(value, ("spec", "forge", "type"))
    name = name if isinstance(name, str) else ""
    if kind != "github" and "://" in name.removeprefix("file://"):
        said = "found an address, expected the path or the remote of a bare repository"
        report.at_value(path, "repository", said, "give a path, or write type: github")
    if kind == "github" and name not in ("", "origin") and not is_github_repository(name):
        said = f"found {shown(name)}, expected owner/name as on GitHub, or origin"
        report.at_value(path, "repository", said, "mend it")
