"""`gitbot keep-apart` and `keep-together`: ask for a rule over VMs, in a pull request."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from gitbot.cli.shared.intent_pull import Writing, author_shell, write_intent, writing_options
from gitbot.cli.shared.options import read_selector, selector_fields, vm_words
from gitbot.errors import UsageError

if TYPE_CHECKING:
    from gitbot.kubernetes.names import NamespacedName
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.workflows.author import NewIntent

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedMembers:
    """The VMs of a rule: by `names` as typed, or by `labels`; `namespace` is "" if not given."""

    names: tuple[str, ...]
    labels: str
    namespace: str


def member_options(function: F) -> F:
    """Which VMs, and zones or nodes. The command gets `members` and `nodes`."""

    @click.argument("vms", nargs=-1, metavar="[vm/NAME]...", callback=vm_words)
    @click.option("-l", "--selector", "labels", metavar="SELECTOR", help="Labels of the VMIs.")
    @click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace of the VMs.")
    @click.option("--zones", is_flag=True, help="The rule is about zones (default).")
    @click.option("--nodes", is_flag=True, help="The rule is about nodes.")
    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        zones, vms, labels = kwargs.pop("zones"), kwargs.pop("vms"), kwargs.pop("labels")
        if zones and kwargs["nodes"]:
            raise UsageError("found both --zones and --nodes", hint="give one of them")
        if bool(vms) == bool(labels):
            raise UsageError(
                "found both VMs and -l" if vms else "no VM is meant",
                hint="give vm/NAME for each VM, or -l with labels that they share",
            )
        if labels:
            read_selector(labels)  # a wrong one is refused before the cluster is read
        members = TypedMembers(names=vms, labels=labels or "", namespace=kwargs.pop("namespace"))
        return function(members=members, **kwargs)

    return cast("F", gather)


@click.command("keep-apart")
@member_options
@click.option("--max", "most", type=click.IntRange(1, 10_000), help="At most so many in each.")
@writing_options
def keep_apart(*, writing: Writing, members: TypedMembers, nodes: bool, most: int | None) -> int:
    """Write a ZoneAntiAffinity rule for these VMs and open its pull request.

    The VMs are named, or given by labels: then the rule is for VMs that come later, too. gitbot
    then finds breaches of the rule, proposes the fewest moves that heal them, and makes no move
    that adds one.
    """
    from gitbot.model.cluster.scheduling import HOSTNAME  # noqa: PLC0415 - keeps --help quick

    spec: dict[str, Any] = {"topologyKey": HOSTNAME} if nodes else {}
    spec |= {"maxPerDomain": most} if most else {}
    with author_shell(writing) as (shell, snapshot, _):
        found = _found(snapshot, members)
        where = f"apart: at most {most or 1} {'on a node' if nodes else 'in a zone'}"
        rule = AskedRule(kind="ZoneAntiAffinity", suffix="apart", spec=spec, title=where)
        return write_intent(shell, rule.over(found, writing), writing)


@click.command("keep-together")
@member_options
@writing_options
def keep_together(*, writing: Writing, members: TypedMembers, nodes: bool) -> int:
    """Write a PlacementRule that keeps these VMs in one zone or on one node, as a pull request.

    They then move as one group: the rule is broken only between the first landing and the last,
    and the plan shows how long.
    """
    from gitbot.model.cluster.scheduling import HOSTNAME, ZONE  # noqa: PLC0415 - keeps --help quick

    with author_shell(writing) as (shell, snapshot, _):
        found = _found(snapshot, members)
        term = {"topologyKey": HOSTNAME if nodes else ZONE, "labelSelector": found.selector}
        spec = {"affinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        where = f"together {'on one node' if nodes else 'in one zone'}"
        rule = AskedRule(kind="PlacementRule", suffix="together", spec=spec, title=where)
        return write_intent(shell, rule.over(found, writing), writing)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMembers:
    """The members as the file has them, what its name begins with, and who they are in words."""

    namespace: str
    selector: dict[str, Any]
    stem: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRule:
    """What one of the commands asks of any members."""

    kind: str
    suffix: str
    spec: dict[str, Any]
    title: str

    def over(self, found: FoundMembers, writing: Writing) -> NewIntent:
        from gitbot.workflows.author import NewIntent  # noqa: PLC0415 - keeps --help quick

        return NewIntent(
            kind=self.kind,
            namespace=found.namespace,
            name=writing.name or f"{found.stem}-{self.suffix}",
            spec={"selector": found.selector, **self.spec},
            verb="rule",
            title=f"Keep {found.title} in {found.namespace} {self.title}",
            note=writing.note,
        )


def _found(snapshot: ClusterSnapshot, members: TypedMembers) -> FoundMembers:
    if members.labels:
        namespace = members.namespace or _namespace(snapshot, members.labels)
        selector, _ = selector_fields(members.labels)
        title = f"VMs with {members.labels}"
    else:
        vms = _named(snapshot, members.names, members.namespace)
        namespace, selector = vms[0].namespace, _selector_of(snapshot, vms)
        title = ", ".join(vm.name for vm in vms)
    stem = next(iter(selector.get("matchLabels", {}).values()), "").lower() or "vms"
    return FoundMembers(namespace=namespace, selector=selector, stem=stem, title=title)


def _namespace(snapshot: ClusterSnapshot, labels: str) -> str:
    """The one namespace whose VMs have these labels now."""
    from gitbot.kubernetes.objects import labels_of, name_of  # noqa: PLC0415 - keeps --help quick

    matcher = read_selector(labels)
    spaces = sorted(
        {
            name_of(vmi).namespace
            for vmi in snapshot.of("VirtualMachineInstance")
            if matcher.matches(labels_of(vmi))
        }
    )
    if len(spaces) == 1:
        return spaces[0]
    if not spaces:
        raise UsageError(f"no VM has {labels} now", hint="-n NAME asks for a rule all the same")
    raise UsageError(
        f"VMs with {labels} are in namespaces {', '.join(spaces)}", hint="choose one with -n"
    )


def _named(
    snapshot: ClusterSnapshot, texts: tuple[str, ...], namespace: str
) -> tuple[NamespacedName, ...]:
    """At least two VMs of one namespace, each once, as the person named them."""
    from gitbot.cli.commands.explain import resolve  # noqa: PLC0415 - keeps --help quick
    from gitbot.constraints.explanation import Explainer  # noqa: PLC0415

    explainer = Explainer(snapshot)
    found = dict.fromkeys(resolve(explainer, text, namespace) for text in texts)
    vms = tuple(name for kind, name in found if kind == "vm")
    spaces = sorted({vm.namespace for vm in vms})
    if len(vms) < len(found) or len(vms) < 2 or len(spaces) > 1:
        raise UsageError(
            f"found {' and '.join(texts)}, expected two VMs or more of one namespace",
            hint="a rule of one namespace is about its VMs; -l takes those that come later, too",
        )
    return vms


def _selector_of(snapshot: ClusterSnapshot, vms: tuple[NamespacedName, ...]) -> dict[str, Any]:
    """A selector that matches exactly these VMs of their namespace, as a file has it.

    A rule selects by labels of VMIs. One value that they share comes before one for each.
    """
    from gitbot.kubernetes.objects import labels_of, name_of  # noqa: PLC0415 - keeps --help quick
    from gitbot.kubevirt.names import DOMAIN  # noqa: PLC0415

    labels = {
        name_of(vmi): {
            key: value
            for key, value in labels_of(vmi).items()
            # KubeVirt's own, such as kubevirt.io/nodeName, change with a migration
            if key == DOMAIN or not key.startswith("kubevirt.io/")
        }
        for vmi in snapshot.of("VirtualMachineInstance")
        if name_of(vmi).namespace == vms[0].namespace
    }
    others = [labels[name] for name in labels if name not in vms]
    fits = []
    for key in sorted(set.intersection(*(set(labels.get(vm, {})) for vm in vms))):
        values = sorted({labels[vm][key] for vm in vms})
        if not any(other.get(key) in values for other in others):
            fits.append((len(values), key, values))
    if not fits:
        names = " ".join(vm.name for vm in vms)
        raise UsageError(
            f"no label tells {names} from the other VMs of {vms[0].namespace}",
            hint="label the template of each VM, or give -l",
        )
    _, key, values = min(fits)
    if len(values) == 1:
        return {"matchLabels": {key: values[0]}}
    return {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
