"""`gitbot describe`: all that is known about one thing, by the command that knows it."""

from __future__ import annotations

import click

from gitbot.cli.shared.options import GET_TYPES
from gitbot.cli.shared.session import running_options
from gitbot.errors import UsageError
from gitbot.model.ledger.request_id import MigrationRequestId, parse_request_id
from gitbot.model.text.wording import one_of


@click.command("describe")
@click.argument("kind", metavar="TYPE[/NAME]")
@click.argument("name", required=False, metavar="[NAME]")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Its namespace.")
@running_options
def describe(*, where: dict[str, str], kind: str, name: str | None, namespace: str) -> int:
    """Describe one VM, pod, request, window, rule or node: `describe vm/db-1`, `describe node a`.

    A VM or pod is explained, a request has its status, the others their line of `get -o wide`.
    The id of a drain, a return or a healing is that of a request.
    """
    from gitbot.cli.main import cli  # noqa: PLC0415 - it imports this command

    word, _, rest = kind.partition("/")
    subject = name or rest
    if not subject:
        raise UsageError(f"found {kind!r} without a name", hint="give TYPE/NAME, as vm/db-1")
    types = {each: of for of, others in GET_TYPES.items() for each in (of, *others)}
    scope = ["-n", namespace] if namespace else []
    found = types.get(word.lower())
    if known := parse_request_id(f"{kind}/{name}" if name else kind):
        words = ["status", known]
    elif found == "vms" or word.lower() in ("pod", "pods", "po"):
        words = ["explain", f"{'vm' if found else 'pod'}/{subject}", *scope]
    elif found == "requests":
        space, _, last = subject.rpartition("/")
        words = ["status", MigrationRequestId(namespace=space or namespace or "default", name=last)]
    elif found:
        words = ["get", found, subject, "-o", "wide", *scope]
    else:
        raise UsageError(f"found {word!r}, expected {one_of(['pod', *GET_TYPES])}")
    words += [f"--{option}={value}" for option, value in where.items() if value]
    code: int = cli.main(args=words, prog_name="gitbot", standalone_mode=False)
    return code
