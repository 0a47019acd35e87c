"""`gitbot render`: the objects that gitbot would create, as Kubernetes manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import LISTED, output_option
from gitbot.cli.shared.output import unknown_namespace
from gitbot.cli.shared.planning_input import PlanOptions, asking_options, run_check
from gitbot.cli.shared.session import say
from gitbot.errors import InvalidInput
from gitbot.kubernetes.objects import labels_of

if TYPE_CHECKING:
    from gitbot.model.plan.plan import Manifest
    from gitbot.workflows.check import CheckResult


KINDS = (
    "VirtualMachineInstanceMigration",
    "Node",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
)


@click.command("render")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS, case_sensitive=False),
    help="Only objects of this kind; may be given several times.",
)
@output_option(LISTED, "yaml")
@asking_options
def render(asked: PlanOptions, output: str, kinds: tuple[str, ...]) -> int:
    """Print the migrations of the plan, what nodes that leave service get, and admission
    policies of rules with `admission: Render`.

    The migrations can be created with `kubectl create -f -`: they are what gitbot itself would
    create. What nodes get is for `kubectl apply --server-side -f -`. Admission policies are printed
    for you to apply; gitbot applies none.
    """  # noqa: D205 - the first sentence is too long for a line
    from gitbot.workflows.core.judged_plan import fault_findings  # noqa: PLC0415

    result = run_check(asked)
    if result.judged is None:
        from gitbot.reports import text  # noqa: PLC0415 - keeps --help quick

        raise InvalidInput(text(result.all_findings).rstrip())
    scope = asked.scope
    if scope and (found := unknown_namespace(scope, result.judged.snapshot, result.revision)):
        say(f"warning: {found}", err=True)
    every = (*result.judged.manifests, *_policies(result))
    manifests = tuple(
        item
        for item in every
        if (not kinds or item.kind in kinds)
        and (scope is None or scope.holds(item.namespace, labels_of(item.object)))
    )
    click.echo(_shown(manifests, output), nl=False)
    held = len(result.holds)
    if held:
        words = "1 VM is held" if held == 1 else f"{held} VMs are held"
        click.echo(f"{words}; `gitbot plan` says why", err=True)
    faults = fault_findings(result.faults)
    if faults:
        from gitbot.reports import text  # noqa: PLC0415 - keeps --help quick

        click.echo(text(faults), nl=False, err=True)
    return int(bool(faults))


def _policies(result: CheckResult) -> tuple[Manifest, ...]:
    from gitbot.rendering import admission_manifests, manifest  # noqa: PLC0415
    from gitbot.workflows.core.judged_plan import admission_rules  # noqa: PLC0415

    revision = result.revision
    assert revision is not None, "BUG: a review without a revision"
    return tuple(
        manifest(obj)
        for rule in admission_rules(revision.intents)
        for obj in admission_manifests(rule, templates=revision.templates)
    )


def _shown(manifests: tuple[Manifest, ...], output: str) -> str:
    if output == "json":
        from gitbot.published import ManifestList, json_text, published  # noqa: PLC0415

        return json_text(published({"items": [item.object for item in manifests]}, ManifestList))
    if output == "yaml":
        return "---\n".join(item.text for item in manifests)
    if output == "name":
        return "".join(f"{item.kind.lower()}/{item.name}\n" for item in manifests)
    from gitbot.reports import columns  # noqa: PLC0415 - keeps --help quick

    rows = [[item.kind, item.namespace, item.name] for item in manifests]
    return columns(["KIND", "NAMESPACE", "NAME"], rows)
