"""What a shell offers after Tab: names of the clone around the working folder, no network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from gitbot.cli.shared.options import GET_TYPES
from gitbot.errors import GitbotError
from gitbot.wiring import SystemClock, find_root

Names = Callable[[click.Context], Iterable[str]]


def complete_names(command: click.Command) -> None:
    """Let the parameters of a command offer the names that they take."""
    for param in command.params:
        names = _BY_COMMAND.get((command.name, param.name)) or _BY_PARAMETER.get(param.name or "")
        if names is not None:
            setattr(param, "shell_complete", partial(_offered, names))  # noqa: B010 - an instance's


def _offered(names: Names, context: click.Context, incomplete: str) -> list[CompletionItem]:
    found: list[str] = []
    with suppress(GitbotError, OSError):  # then there is nothing to offer
        found = sorted({name for name in names(context) if name.startswith(incomplete)})
    return [CompletionItem(name) for name in found]


def _cluster(context: click.Context) -> str:
    given = context.params.get("cluster")
    return str(given) if given else next(iter(_clusters(context)), "")


def _clusters(_: click.Context) -> Iterable[str]:
    from gitbot.wiring.workspace import settings_here  # noqa: PLC0415

    return [cluster.name for cluster in settings_here(find_root(Path.cwd())).clusters]


def _declared(context: click.Context, kind: str) -> Iterable[tuple[str, str]]:
    """Namespace and name of the intents of a kind in the working tree."""
    from gitbot.intents import read_intents  # noqa: PLC0415
    from gitbot.wiring import read_working_tree  # noqa: PLC0415
    from gitbot.wiring.workspace import settings_here  # noqa: PLC0415

    root, cluster = find_root(Path.cwd()), _cluster(context)
    files = read_working_tree(root, f"intents/{cluster}")
    intents, _ = read_intents(files, settings_here(root), cluster)
    return [
        (item.ref.namespace, item.ref.name) for item in intents.intents if item.ref.kind == kind
    ]


def _requests(context: click.Context) -> Iterable[str]:
    from gitbot.execution.request_records import fold_requests  # noqa: PLC0415
    from gitbot.model.ledger.request_id import MigrationRequestId  # noqa: PLC0415
    from gitbot.wiring.forge_reads import ledger_of_clone  # noqa: PLC0415
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415

    ledger = ledger_of_clone(repository_here(find_root(Path.cwd())))
    yield from fold_requests(ledger, _cluster(context))
    for namespace, name in _declared(context, "MigrationRequest"):
        yield str(MigrationRequestId(namespace=namespace, name=name))


def _in_snapshot(context: click.Context, kind: str) -> Iterable[tuple[str, str]]:
    """Namespace and name of the objects of a kind in the newest published snapshot."""
    from gitbot.cli.shared.published_state import published_snapshot  # noqa: PLC0415
    from gitbot.kubernetes.objects import name_of  # noqa: PLC0415
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415

    repository = repository_here(find_root(Path.cwd()))
    snapshot = published_snapshot(repository, _cluster(context), now=SystemClock().now())
    return [(name.namespace, name.name) for name in map(name_of, snapshot.of(kind))]


def _vms(context: click.Context) -> Iterable[str]:
    namespace = context.params.get("namespace") or ""
    for space, name in _in_snapshot(context, "VirtualMachineInstance"):
        if namespace in ("", space):
            yield f"vm/{name}"


def _nodes(context: click.Context) -> Iterable[str]:
    return [name for _, name in _in_snapshot(context, "Node")]


def _namespaces(context: click.Context) -> Iterable[str]:
    return [space for space, _ in _in_snapshot(context, "VirtualMachineInstance")]


def _windows(context: click.Context) -> Iterable[str]:
    return [name for _, name in _declared(context, "MaintenanceWindow")]


def _schemas(_: click.Context) -> Iterable[str]:
    from gitbot.cli.shared.schema_table import schemas  # noqa: PLC0415

    return schemas()


def _kinds(_: click.Context) -> Iterable[str]:
    return tuple(GET_TYPES)


_BY_PARAMETER: dict[str, Names] = {
    "cluster": _clusters,
    "namespace": _namespaces,
    "node": _nodes,
    "window": _windows,
}
_BY_COMMAND: dict[tuple[str | None, str | None], Names] = {
    ("cancel", "request"): _requests,
    ("drain", "nodes"): _nodes,
    ("explain", "request"): lambda context: [
        f"{space}/{name}" for space, name in _declared(context, "MigrationRequest")
    ],
    ("explain", "subjects"): _vms,
    ("get", "kind"): _kinds,
    ("move", "vms"): _vms,
    ("schema", "kind"): _schemas,
    ("status", "request"): _requests,
}
