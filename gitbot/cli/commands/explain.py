"""`gitbot explain`: where could this VM or pod run, and why not elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gitbot.cli.shared.explain_grounds import answering, explain_one, grounds_of, judged
from gitbot.cli.shared.options import (
    LISTED,
    ClusterAccess,
    at_option,
    cluster_options,
    now_option,
    output_option,
    scope_options,
    vm_words,
)
from gitbot.cli.shared.session import colour
from gitbot.errors import UsageError
from gitbot.kubernetes.labels import label_key_problems, label_value_problems
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.wiring import StderrProgress

if TYPE_CHECKING:
    from gitbot.cli.shared.explain_grounds import RepositoryContext
    from gitbot.constraints.explanation import Explainer, Explanation
    from gitbot.constraints.load.ranking import Ranking
    from gitbot.kubernetes.selectors import Scope
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.model.cluster.load import ClusterLoad
    from gitbot.workflows.check import VmVerdict

SCORERS = (
    "MostAllocated",
    "LoadVariationRiskBalancing",
    "LowRiskOverCommitment",
    "TargetLoadPacking",
)
_NAMED = 8  # names that an error lists
_KINDS = {
    **dict.fromkeys(("vm", "vms", "virtualmachine", "virtualmachines"), "vm"),
    **dict.fromkeys(("vmi", "vmis", "virtualmachineinstance", "virtualmachineinstances"), "vm"),
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
}


@click.command("explain")
@click.argument("subjects", nargs=-1, metavar="[vm/NAME | pod/NAME]...", callback=vm_words)
@click.option("--all-pending", is_flag=True, help="Every pod that waits for a node.")
@click.option(
    "--added-node-selector",
    "added",
    multiple=True,
    callback=lambda _context, _option, texts: _selector(texts),
    metavar="KEY=VALUE",
    help="Ask for a migration with this addedNodeSelector; may be given several times.",
)
@click.option("--to", "node", metavar="NODE", help="Ask for a migration to this node.")
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    type=click.Choice(SCORERS),
    help="Rank as a profile with this scorer would; may be given several times.",
)
@click.option("--request", metavar="NAMESPACE/NAME", help="The plan of one MigrationRequest alone.")
@click.option("--window", metavar="NAME", help="The plan of one window's next drain alone.")
@click.option("--cluster", metavar="NAME", help="Which cluster of the configuration.")
@click.option(
    "--no-intents", is_flag=True, help="Ask about the cluster alone, not about the repository."
)
@scope_options
@at_option
@now_option
@output_option(LISTED, "table")
@cluster_options
def explain(
    *,
    access: ClusterAccess,
    subjects: tuple[str, ...],
    all_pending: bool,
    added: dict[str, str],
    node: str | None,
    scorers: tuple[str, ...],
    request: str | None,
    window: str | None,
    cluster: str | None,
    no_intents: bool,
    scope: Scope,
    at: str,
    now: int,
    output: str,
) -> int:
    """Show for every node whether the scheduler would take the target pod of a VM, and why not.

    Inside a repository of intents, what its rules, windows, freezes and reservations say about
    a VM comes first: whether and where a plan would move it, then each with file and line.

    A bare NAME and vmi/NAME mean vm/NAME; -l explains every VM with these labels. A running VM is
    judged as a live migration that starts now, with its own pod counted; a stopped one as a start.
    """
    if not any((subjects, scope.labels, all_pending, request, window)):
        raise UsageError("nothing to explain", hint="give vm/NAME, pod/NAME, -l or --all-pending")
    with (progress := StderrProgress(sys.stderr)).shown():
        grounds = grounds_of(
            access,
            now=now,
            at=at,
            cluster=cluster or "",
            intents=not no_intents,
            must=bool(request or window),
            human=output in ("table", "wide"),
            onlooker=progress,
        )
        if request or window:
            return explain_one(grounds, request, window, output=output, onlooker=progress)
        progress.begins("explaining")
        added |= _to(grounds.snapshot, node) if node else {}
        with answering(grounds.snapshot):
            explainer = _explainer(grounds.snapshot, _ranking(scorers, load := grounds.load(now)))
            wanted = _wanted(grounds.snapshot, explainer, scope, subjects, all_pending=all_pending)
            found = [_explain(explainer, kind, name, added) for kind, name in wanted]
            verdicts = judged(grounds, found, explainer, added)
            shown = _printed(found, grounds, output, explainer, verdicts, load=load, now=now)
    click.echo(shown + (_measured(load, now) if output in ("table", "wide") else ""), nl=False)
    return _said(found, verdicts.values(), all_pending=all_pending)


def _said(
    found: Sequence[Explanation], verdicts: Collection[VmVerdict], *, all_pending: bool
) -> int:
    """The exit code; if nothing was explained, or gitbot contradicts itself, stderr says so."""
    if not found:
        click.echo("no pod waits for a node" if all_pending else "no VM has these labels", err=True)
    faults = [str(fault) for verdict in verdicts for fault in verdict.faults]
    for line in dict.fromkeys(faults):
        click.echo(line, err=True)
    return int(bool(faults))


def _to(snapshot: ClusterSnapshot, target: str) -> dict[str, str]:
    """The addedNodeSelector of a migration to this node. Raises UsageError if there is none."""
    from gitbot.model.cluster.scheduling import HOSTNAME  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.simulate import chosen_nodes  # noqa: PLC0415

    chosen_nodes(snapshot, (target,))
    (label,) = (
        labels_of(node).get(HOSTNAME, target)
        for node in snapshot.of("Node")
        if name_of(node).name == target
    )
    return {HOSTNAME: label}


def _wanted(
    snapshot: ClusterSnapshot,
    explainer: Explainer,
    scope: Scope,
    given: Sequence[str],
    *,
    all_pending: bool,
) -> dict[tuple[str, NamespacedName], None]:
    """What is given, and pods that wait, or else the VMs with the labels; each once."""
    named = [resolve(explainer, text, scope.namespace) for text in given]
    kind, objects = ("pod", "Pod") if all_pending else ("vm", "VirtualMachineInstance")
    if not all_pending and (given or scope.labels is None):
        return dict.fromkeys(named)
    labels = {name_of(item): labels_of(item) for item in snapshot.of(objects)}
    names = explainer.pending() if all_pending else explainer.names("vm")
    chosen = (name for name in names if scope.holds(name.namespace, labels.get(name, {})))
    return dict.fromkeys([*named, *((kind, name) for name in chosen)])


def _explainer(snapshot: ClusterSnapshot, ranking: Ranking) -> Explainer:
    from gitbot.constraints.explanation import Explainer  # noqa: PLC0415 - numpy only where used

    return Explainer(snapshot, ranking)


def _ranking(scorers: tuple[str, ...], load: ClusterLoad) -> Ranking:
    from gitbot.constraints.load.measures import loads_of  # noqa: PLC0415 - numpy only where used
    from gitbot.constraints.load.ranking import Ranking  # noqa: PLC0415

    ranking = Ranking(names=frozenset(scorers), loads=loads_of(load))
    if ranking.load_aware and not (load.values or load.missing):
        names = ", ".join(ranking.load_aware)
        raise UsageError(f"{names} looks at measured load", hint="give --metrics FILE")
    return ranking


def _selector(added: Sequence[str]) -> dict[str, str]:
    selector: dict[str, str] = {}
    for text in added:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"--added-node-selector: found {text!r}, expected KEY=VALUE")
        problems = [*label_key_problems(key), *label_value_problems(value)]
        if problems:
            raise UsageError(
                f"--added-node-selector: {text!r} is not a label: {'; '.join(problems)}"
            )
        if selector.get(key, value) != value:
            raise UsageError(
                f"--added-node-selector: found {key} twice, with {selector[key]} and {value}",
                hint="a label has one value; ask twice",
            )
        selector[key] = value
    return selector


def resolve(explainer: Explainer, text: str, namespace: str) -> tuple[str, NamespacedName]:
    """Kind (`vm` or `pod`) and name of a subject; raises UsageError for none or several."""
    prefix, slash, name = text.rpartition("/")
    kind = _KINDS.get(prefix.lower()) if slash else "vm"
    if kind is None or not name:
        raise UsageError(
            f"found {text!r}, expected vm/NAME, vmi/NAME or pod/NAME",
            hint="-n NAME gives the namespace",
        )
    found = [
        item
        for item in explainer.names(kind)
        if item.name == name and namespace in ("", item.namespace)
    ]
    if len(found) == 1:
        return kind, found[0]
    where = f" in namespace {namespace}" if namespace else ""
    if not found:
        raise UsageError(f"there is no {kind} {name}{where}{_nearest(explainer, kind, name)}")
    spaces = ", ".join(item.namespace for item in found)
    raise UsageError(f"{kind} {name} is in namespaces {spaces}", hint="choose one with -n")


def _nearest(explainer: Explainer, kind: str, name: str) -> str:
    from gitbot.model.text.wording import first_of, nearest  # noqa: PLC0415 - only for an error

    elsewhere = [item.namespace for item in explainer.names(kind) if item.name == name]
    if elsewhere:
        return f"; there is one in {', '.join(elsewhere)}"
    names = sorted({item.name for item in explainer.names(kind)})
    near = nearest(name, names)
    known = f"known: {first_of(names, _NAMED)}" if names else f"the cluster has no {kind}"
    return f"; did you mean {near}?" if near else f"; {known}"


def _explain(
    explainer: Explainer, kind: str, name: NamespacedName, added: dict[str, str]
) -> Explanation:
    if kind == "vm":
        return explainer.vm(name, added)
    if added:
        what = "--to and --added-node-selector are about migrations"
        raise UsageError(what, hint="give vm/NAME only")
    return explainer.pod(name)


def _printed(
    found: Sequence[Explanation],
    grounds: RepositoryContext,
    output: str,
    explainer: Explainer,
    verdicts: Mapping[NamespacedName, VmVerdict],
    *,
    load: ClusterLoad,
    now: int,
) -> str:
    if output == "name":
        nodes = dict.fromkeys(node for item in found for node in item.judgement.feasible)
        return "".join(f"node/{node}\n" for node in nodes)
    here = {item.name: explainer.runs_on(item) for item in found}
    if output in ("table", "wide"):
        from gitbot.cli.shared.explain_table import table  # noqa: PLC0415 - beside its command
        from gitbot.reports import Paint  # noqa: PLC0415

        times = _times(grounds, now)
        show = partial(table, wide=output == "wide", paint=Paint(colour=colour()), times=times)
        return "\n".join(
            show(item, here=here[item.name], intents=_of(item, verdicts)) for item in found
        )
    from gitbot.published import encoded, explanation_document  # noqa: PLC0415 - msgspec where used

    by_subject = {item.name: _of(item, verdicts) for item in found}
    value: dict[str, Any] = encoded(
        explanation_document(
            found, grounds.snapshot.cluster, runs_on=here, intents=by_subject, load=load
        )
    )
    if output == "json":
        from gitbot.snapshot import indented_json  # noqa: PLC0415 - msgspec where used

        return indented_json(value) + "\n"
    from gitbot.documents import write_shown  # noqa: PLC0415 - yaml only where used

    return write_shown(value)


def _times(grounds: RepositoryContext, now: int) -> Callable[..., str]:
    """Says the instants of a text in the cluster's zone, if a repository names it."""
    from gitbot.calendar import localized  # noqa: PLC0415 - keeps --help quick

    zone = grounds.revision.zone if grounds.revision is not None else None
    return partial(localized, zone=zone or "UTC", now=now)


def _measured(load: ClusterLoad, now: int) -> str:
    from gitbot.reports import load_table  # noqa: PLC0415 - keeps --help quick

    return load_table(load, now)


def _of(item: Explanation, verdicts: Mapping[NamespacedName, VmVerdict]) -> VmVerdict | None:
    return None if item.kind == "Pod" else verdicts.get(item.name)
