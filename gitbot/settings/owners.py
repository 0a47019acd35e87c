"""Who owns folders, namespaces, nodes and zones, and who may override a policy."""

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from gitbot.documents import Report, schemas, value_at
from gitbot.documents.fields import Text, Value
from gitbot.documents.formats import BAD_PATH, repository_path
from gitbot.model.plan.findings import Refusal


def _matching(pattern: str, letters: str) -> Callable[[str], str]:
    """A check of text with stars, in words instead of the pattern."""

    def must_match(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise Refusal("value", f"{letters} and `*`", "no other sign stands for many names")
        return text

    return must_match


_BAD_PATH = rf"{BAD_PATH}|\*\*(?!$)|[^/]\*\*|(^|/)\s|\s(/|$)"


def _owned_path(text: str) -> str:
    if re.search(_BAD_PATH, repository_path(text)):
        hint = "`**` may be the last step only; no file has spaces there"
        raise Refusal("path", "`*` for one step of a path, and no outer spaces", hint)
    return text


RepositoryPath = Annotated[
    str,
    AfterValidator(_owned_path),
    Field(min_length=1),
    WithJsonSchema({**schemas.PATH, "not": {"pattern": _BAD_PATH}}),
]
_NAMESPACE, _NAME = "^[a-z0-9*-]{1,63}$", "^[A-Za-z0-9*._-]{1,253}$"
NamespacePattern = Annotated[
    str,
    AfterValidator(_matching(_NAMESPACE, "the letters of a namespace")),
    WithJsonSchema({"type": "string", "pattern": _NAMESPACE}),
]
NamePattern = Annotated[
    str,
    AfterValidator(_matching(_NAME, "the letters of a name")),
    WithJsonSchema({"type": "string", "pattern": _NAME}),
]
_STEP = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_OWNER = f"^@{_STEP}(/{_STEP})?$"
_TEAMS = "`@org/team` or `@user`; no App and no bot"


def _owner_name(text: str) -> str:
    if not re.fullmatch(_OWNER, text):
        raise Refusal("value", _TEAMS, 'write it in quotes, with its @: "@acme/dba"')
    return text


OwnerName = Annotated[
    str, AfterValidator(_owner_name), WithJsonSchema({"type": "string", "pattern": _OWNER})
]


class NodeSettings(Value):
    """Nodes by name or by label; one match suffices."""

    names: tuple[NamePattern, ...] = Field(
        default=(), strict=False, description="Names of nodes; `*` matches any letters."
    )
    match_labels: dict[str, str] = Field(
        default_factory=dict, description="Labels that all must have exactly these values."
    )

    def match(self, name: str, labels: Mapping[str, str]) -> bool:
        wanted = self.match_labels.items()
        by_label = bool(wanted) and all(labels.get(key) == value for key, value in wanted)
        return by_label or any(fnmatchcase(name, pattern) for pattern in self.names)


class OwnerSettings(Value):
    """What a team owns. The last entry that names a file, namespace, node or zone counts."""

    paths: tuple[RepositoryPath, ...] = Field(
        default=(),
        strict=False,
        description="Folders or files of the repository; `*` stands for one step of a path.",
    )
    namespaces: tuple[NamespacePattern, ...] = Field(
        default=(),
        strict=False,
        description="Namespaces in which files there may act; `*` matches any letters.",
    )
    nodes: NodeSettings = Field(
        default=NodeSettings.model_construct(), description="Nodes that are theirs."
    )
    zones: tuple[NamePattern, ...] = Field(
        default=(),
        strict=False,
        description="Zones whose nodes are theirs; `*` matches any letters.",
    )
    teams: tuple[OwnerName, ...] = Field(
        default=(),
        strict=False,
        description=f"Who must approve what moves there, one of them: {_TEAMS}. "
        "Without teams the namespace's are those of CODEOWNERS.",
    )

    def owns(self, namespace: str) -> bool:
        return any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)

    def owns_zone(self, zone: str) -> bool:
        return bool(zone) and any(fnmatchcase(zone, pattern) for pattern in self.zones)

    def owns_node(self, name: str, zone: str, labels: Mapping[str, str]) -> bool:
        return self.nodes.match(name, labels) or self.owns_zone(zone)

    def holds(self, file: str) -> bool:
        return any(_holds(path, file) for path in self.paths)


class OverrideSettings(Value):
    """Who may override the denials of one policy."""

    policy: Text = Field(description="Name of the policy.")
    owners: tuple[OwnerName, ...] = Field(
        strict=False, min_length=1, description=f"Who may override it: {_TEAMS}."
    )


_LITERAL = str.maketrans({"[": "[[]", "?": "[?]"})  # `*` alone stands for others


def _holds(path: str, file: str) -> bool:
    wanted, steps = path.translate(_LITERAL).split("/"), file.split("/")
    return len(wanted) <= len(steps) and all(map(fnmatchcase, steps, wanted))


def check_owners(report: Report, value: Mapping[str, Any]) -> None:
    """Report entries that bind nothing: paths and namespaces belong together."""
    for number, item in enumerate(value_at(value, ("spec", "owners")) or ()):
        if not isinstance(item, dict):
            continue
        place = ("spec", "owners", number)
        for field, other in (("paths", "namespaces"), ("namespaces", "paths")):
            if field in item and not item[field]:
                report.at_key((*place, field), "empty", "found an empty list", "name at least one")
            if field in item and other not in item:
                report.at_value(place, "missing", f"found {field} without {other}", f"add {other}")
        if not item.keys() & {"paths", "namespaces", "nodes", "zones"}:
            report.at_value(
                place,
                "missing",
                "found an owner of nothing, expected paths and namespaces, nodes or zones",
                "say what they own",
            )
