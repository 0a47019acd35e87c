"""A check's result in every format of `-o`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot import gitbot_version
from gitbot.cli.shared.session import say
from gitbot.errors import UsageError
from gitbot.model.text.wording import counted
from gitbot.wiring import ShippedTexts, find_root, read_plain_file, template_process

if TYPE_CHECKING:
    from gitbot.kubernetes.selectors import Scope
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.model.plan.findings import Finding
    from gitbot.model.plan.plan import Hold, Move, PlacementPlan
    from gitbot.published import Part
    from gitbot.reports import Diff
    from gitbot.reports.own_templates import TextForm, Values
    from gitbot.workflows.check import CheckResult
    from gitbot.workflows.core.revision import Revision


def shown(result: CheckResult, output: str, *, colour: bool, scope: Scope | None = None) -> str:
    """The output; only findings if the texts have errors, because then there is no plan.

    `scope` chooses moves, holds and rules of a table; a document is always whole.
    """
    from gitbot import reports  # noqa: PLC0415 - keeps --help quick
    from gitbot.documents import write_shown  # noqa: PLC0415 - keeps --help quick
    from gitbot.published import plan_bytes  # noqa: PLC0415
    from gitbot.reports.own_templates import COMMENT  # noqa: PLC0415

    form = reports.REPORTS.get(output)
    if result.judged is None or (form is not None and form.plan is None):
        return shown_findings(
            result.all_findings,
            output,
            colour=colour,
            cluster=result.cluster,
            state="not planned: the texts have errors",
        )
    if output == "markdown":
        own = own_words(COMMENT, partial(reports.comment_values, result.judged.diff))
        if own:
            return own
    if form is not None and form.plan is not None:
        return form.plan(result.judged.diff, shipped_templates)
    match output:
        case "json":
            return plan_bytes(result.judged.document).decode("ascii")
        case "yaml":
            return write_shown(result.judged.document)
        case _:
            diff = narrowed(result, scope) if scope is not None else result.judged.diff
            if output == "name":
                return "".join(f"{move.request}/{move.id}\n" for move in diff.plan.moves)
            if output == "brief":
                return reports.brief(diff, colour=colour)
            return reports.terminal(diff, colour=colour, wide=output == "wide")


def whole_or_narrow(scope: Scope | None, output: str) -> None:
    """Raises UsageError if somebody asks for a part of a document that is whole or nothing."""
    if scope and scope.narrows and output not in ("table", "wide", "name"):
        raise UsageError(
            f"-n and -l choose what is shown, but a plan's document is whole: found -o {output}",
            hint="leave them out, or give -o table, wide or name",
        )


def unknown_namespace(scope: Scope, snapshot: ClusterSnapshot, revision: Revision | None) -> str:
    """What is wrong with -n, if no object and no intent is there: its answer would look clean."""
    from gitbot.kubernetes.objects import name_of  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.text.wording import meant  # noqa: PLC0415 - only where -n is given

    names = [name_of(obj) for kind in snapshot.objects for obj in snapshot.of(kind)]
    spaces = {name.namespace for name in names}
    spaces |= {name_of(obj).name for obj in snapshot.of("Namespace")}
    spaces |= {item.ref.namespace for item in revision.intents.intents} if revision else set()
    if not scope.namespace or scope.namespace in spaces:
        return ""
    hint = meant(scope.namespace, sorted(spaces - {""}))
    return f"there is no namespace {scope.namespace} in the cluster; {hint}"


def narrowed(result: CheckResult, scope: Scope) -> Diff:
    """What is shown of a plan with -n and -l: VMs by the labels of the VMI, rules by their own."""
    from gitbot.kubernetes.objects import labels_of, name_of  # noqa: PLC0415 - keeps --help quick

    assert result.judged is not None, "BUG: nothing was judged"
    assert result.revision is not None, "BUG: a plan without its revision"
    diff, snapshot = result.judged.diff, result.judged.snapshot
    if not scope.narrows:
        return diff
    if unknown := unknown_namespace(scope, snapshot, result.revision):
        say(f"warning: {unknown}", err=True)
    machines = {name_of(vmi): labels_of(vmi) for vmi in snapshot.of("VirtualMachineInstance")}
    rules = {intent.ref.id: intent.labels for intent in result.revision.intents.intents}

    def of_vm(item: Move | Hold) -> bool:
        name = item.vm.namespaced_name
        return scope.holds(name.namespace, machines.get(name, {}))

    def cut(plan: PlacementPlan) -> PlacementPlan:
        return replace(
            plan,
            moves=tuple(filter(of_vm, plan.moves)),
            holds=tuple(filter(of_vm, plan.holds)),
            rules=tuple(
                rule
                for rule in plan.rules
                if scope.holds(rule.intent.namespace, rules.get(rule.intent.id, {}))
            ),
        )

    plan = cut(diff.plan)
    say(f"{len(plan.moves)} of {counted(len(diff.plan.moves), 'move')} shown", err=True)
    previews = tuple(replace(item, plan=cut(item.plan)) for item in diff.previews)
    return replace(diff, plan=plan, previews=previews)


def shown_findings(
    findings: Sequence[Finding],
    output: str,
    *,
    colour: bool = False,
    cluster: str = "",
    state: str = "",
) -> str:
    """Findings alone, in a form of `reports.REPORTS` or of a listing.

    `cluster` and `state` are the head of a page.
    """
    from gitbot import reports  # noqa: PLC0415 - keeps --help quick
    from gitbot.published import FindingList, published  # noqa: PLC0415

    match output:
        case "json":
            return reports.json_findings(findings)
        case "yaml":
            return document_text(published({"items": findings}, FindingList), "yaml")
        case "name":
            return "".join(f"{file}\n" for file in dict.fromkeys(item.file for item in findings))
        case _:  # a table of findings is their text
            report = reports.FindingReport(
                findings=findings,
                cluster=cluster,
                state=state,
                version=gitbot_version,
                paint=reports.Paint(colour=colour),
                meanings=lambda: ShippedTexts().meanings()["findings.tsv"],
                docs=documentation,
                templates=shipped_templates,
            )
            return reports.REPORTS.get(output, reports.REPORTS["text"]).findings(report)


def documentation() -> str:
    """Address of the reference pages: GITBOT_DOCS, what the installed package names, else its own.

    Its own are on this machine.
    """
    from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415 - a slow one

    if found := os.environ.get("GITBOT_DOCS", ""):
        return found
    try:
        addresses = metadata("gitbot").get_all("Project-URL") or []
    except PackageNotFoundError:
        addresses = []
    named = dict(text.split(", ", 1) for text in addresses)
    if "Documentation" in named:
        return f"{named['Documentation'].rstrip('/')}/reference"
    return ShippedTexts().reference()


def own_words(form: TextForm, values: Callable[[int], Values]) -> str:
    """The text by the template of this folder, "" without one; its fault is said."""
    from gitbot.workflows.core.own_wording import wording  # noqa: PLC0415 - keeps --help quick

    path = find_root(Path.cwd()) / form.path
    if not path.exists():
        return ""
    own = wording(form, read_plain_file(path, form.path), values, template_process())
    if own.fault:
        say(f"{own.where}: {own.fault}; this is gitbot's own text", err=True)
    return own.text


def shipped_templates() -> Mapping[str, str]:
    return ShippedTexts().templates()


def document_text(document: Part, output: str) -> str:
    """A published document as -o json or -o yaml prints it."""
    from gitbot.published import encoded, json_text  # noqa: PLC0415 - keeps --help quick

    if output == "json":
        return json_text(document)
    from gitbot.documents import write_shown  # noqa: PLC0415 - yaml only where used

    return write_shown(encoded(document))
