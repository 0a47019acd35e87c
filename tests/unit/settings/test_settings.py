"""The configuration: defaults, every field, and every mistake at its place."""

import pytest

from gitbot.model.plan.findings import Severity
from gitbot.model.plan.problem import Limits
from gitbot.settings import ClusterSettings, Settings, json_schema, not_at_hand, read_settings

HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"


def found(text: str) -> list[str]:
    settings, findings = read_settings(text.encode(), "f", not_at_hand)
    assert (settings is None) == bool(findings)
    return [str(finding).removeprefix("f:") for finding in findings]


def test_only_a_cluster_name_is_required() -> None:
    text = f"{HEAD}metadata: {{name: default}}\nspec: {{clusters: [{{name: prod}}]}}\n"
    settings, findings = read_settings(text.encode(), "f", not_at_hand)
    assert findings == ()
    assert settings == Settings(clusters=(ClusterSettings(name="prod"),))
    cluster = settings.cluster("prod")
    assert cluster is not None
    assert (cluster.context, cluster.time_zone) == ("prod", None)
    assert cluster.limits.value == Limits(
        parallel=5, per_source_node=2, per_target_node=2, per_zone=4, reserve=1
    )
    assert settings.cluster("lab") is None


DEFAULTS = [
    ("forge.type", "local"),
    ("forge.repository", "origin"),
    ("forge.base_branch", "main"),
    ("mode", "Observe"),
    ("approval", "Plan"),
    ("allow_auto", False),
    ("publish_snapshot", True),
    ("snapshot_max_age", 1_800),
    ("plan_expiry", 86_400),
    ("proposals.announce", 259_200),
    ("proposals.stabilize", 900),
    ("proposals.max_open", 10),
    ("proposals.per_vm_cooldown", 86_400),
    ("breaker.failures", 3),
    ("breaker.unexpected_landings", 1),
    ("breaker.foreign_returns", 2),
    ("unschedulable_timeout", 300),
    ("bandwidth", 64 * 1024 * 1024),
    ("manifests", ()),
    ("owners", ()),
]


@pytest.mark.parametrize(("path", "value"), DEFAULTS)
def test_defaults(path: str, value: object) -> None:
    here: object = Settings(clusters=(ClusterSettings(name="prod"),))
    for step in path.split("."):
        here = getattr(here, step)
    assert here == value


READ = [
    ("clusters: [{name: prod, context: admin@prod}]", "clusters[0].context", "admin@prod"),
    ("{clusters: [{name: a}], proposals: {stabilize: PT0S}}", "proposals.stabilize", 0),
    ("{clusters: [{name: a}], bandwidth: 1000}", "bandwidth", 1000),
    ("{clusters: [{name: a}], bandwidth: 1Gi}", "bandwidth", 2**30),
    ("{clusters: [{name: a}], manifests: [{path: vms}]}", "manifests[0].path", "vms"),
]


@pytest.mark.parametrize(("spec", "path", "value"), READ)
def test_read(spec: str, path: str, value: object) -> None:
    spec = spec if spec.startswith("{") else f"{{{spec}}}"
    settings, findings = read_settings(f"{HEAD}spec: {spec}\n".encode(), "f", not_at_hand)
    assert findings == ()
    here: object = settings
    for step in path.replace("[0]", ".0").split("."):
        here = here[0] if step == "0" else getattr(here, step)  # type: ignore[index]
    assert here == value


FIELDS = (
    "expected clusters, clustersFrom, forge, mode, approval, allowAuto, publishSnapshot, "
    "recordAudit, snapshotMaxAge, planExpiry, proposals, breaker, notify, unschedulableTimeout, "
    "bandwidth, manifests, resilience, packs, ranking, solver, owners or overrides"
)
ONE = f"{HEAD}spec: {{clusters: [{{name: a}}]"
WRONG = [
    ("", "1:1: found a file without a document, expected at least one"),
    ("kind: Configuration\n", "1:1: apiVersion: found nothing, expected placement.gitbot.dev/v1"),
    ("apiVersion: placement.gitbot.dev/v1alpha1\nKind: Configuration\n",
     "1:1: kind: found nothing, expected Configuration; did you mean kind for Kind?"),
    (f"{HEAD}spec: {{clusters: []}}\n",
     "3:18: spec.clusters: found an empty list, expected at least one item; add an item"),
    (f"{HEAD}spec: {{clusters: [{{name: a}}, {{name: a}}]}}\n",
     '3:37: spec.clusters[1].name: found "a" again, expected every cluster once; it stands'),
    (f"{ONE}, notify: [{{name: a}}, {{name: a}}]}}\n",
     '3:58: spec.notify[1].name: found "a" again, expected every webhook once; it stands'),
    (f"{ONE}, notify: [{{name: a, events: [Done]}}]}}\n",
     '3:59: spec.notify[0].events[0]: found "Done", expected Approved, BreakerOpened, Failed, '),
    (f"{ONE}, plan_expiry: PT1H}}\n",
     f'3:31: spec.plan_expiry: found the unknown field "plan_expiry", {FIELDS}; did you mean'),
    (f"{ONE}, maxOpen: 3}}\n",
     f'3:31: spec.maxOpen: found the unknown field "maxOpen", {FIELDS}; maxOpen belongs to '),
    (f"{ONE}, planExpiry: 3600}}\n",
     "3:43: spec.planExpiry: found 3600, expected a duration as text; write PT4H for four"),
    (f"{ONE}, mode: observe}}\n",
     '3:37: spec.mode: found "observe", expected Enforce or Observe; did you mean Observe?'),
    (f"{HEAD}spec: {{clusters: [{{name: a, healthGates: [{{name: g, query: up}}]}}]}}\n",
     ("3:43: spec.clusters[0].healthGates[0]: found query, expected prometheus and query, or "
      "probe; write prometheus: ADDRESS and query: PROMQL, or probe: ADDRESS")),
    (f"{ONE}, solver: CPLEX}}\n", '3:39: spec.solver: found "CPLEX", expected HiGHS'),
    (f"{ONE}, forge: }}\n",
     "3:38: spec.forge: found nothing, expected a mapping; write a value, or remove the key"),
    (f"{ONE}, owners: [{{paths: [intents], namespaces: ['team-[ab]']}}]}}\n",
     ('3:72: spec.owners[0].namespaces[0]: found "team-[ab]", expected the letters of a '
      "namespace and `*`; no other sign stands for many names")),
    (f"{ONE}, owners: [{{paths: ['intents/**/a'], namespaces: [a]}}]}}\n",
     ('3:49: spec.owners[0].paths[0]: found "intents/**/a", expected `*` for one step of a '
      "path, and no outer spaces; `**` may be the last step only; no file has spaces there")),
    (f'{ONE}, owners: [{{zones: [a], teams: ["@dba\\n"]}}]}}\n',
     ('3:61: spec.owners[0].teams[0]: found "@dba\\n", expected `@org/team` or `@user`; no '
      'App and no bot; write it in quotes, with its @: "@acme/dba"')),
    (f"{ONE}, owners: [{{zones: [a], teams: [dba]}}]}}\n",
     ('3:61: spec.owners[0].teams[0]: found "dba", expected `@org/team` or `@user`; no App '
      'and no bot; write it in quotes, with its @: "@acme/dba"')),
    (f"{ONE}}}\n---\n{ONE}}}\n", "5:1: found document 2, expected one document in f; remove it"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "finding"), WRONG)
def test_wrong(text: str, finding: str) -> None:
    assert any(line.startswith(finding) for line in found(text)), found(text)


def test_a_solver_is_accepted_with_a_warning() -> None:
    text = f"{HEAD}spec:\n  clusters: [{{name: prod}}]\n  solver: HiGHS\n"
    settings, (finding,) = read_settings(text.encode(), "f", not_at_hand)
    assert settings is not None
    assert (finding.code, finding.severity) == ("settings/deprecated-field", Severity.WARNING)
    assert str(finding) == (
        "f:5:3: spec.solver: found HiGHS, expected no solver: the field is deprecated and has no "
        "effect; remove the field"
    )


def test_the_schema_marks_the_solver_as_deprecated() -> None:
    assert json_schema()["$defs"]["Settings"]["properties"]["solver"]["deprecated"] is True


def test_all_errors_come_in_one_run() -> None:
    text = f"{HEAD}spec:\n  clusters: [{{name: A}}]\n  mode: x\n  bandwidth: 0\n  what: 1\n"
    assert [line.split(":")[0] for line in found(text)] == ["4", "5", "6", "7"]


@pytest.mark.parametrize("name", ["a b", "acme", "acme/x/y", "acme/..", "-acme/x", "https://h/a/b"])
def test_a_repository_on_github_is_owner_and_name(name: str) -> None:
    forge = f"forge: {{type: github, repository: {name!r}}}"
    text = f"{HEAD}spec:\n  clusters: [{{name: prod}}]\n  {forge}\n"
    expected = f'found "{name}", expected owner/name as on GitHub, or origin; mend it'
    assert found(text) == [f"5:37: spec.forge.repository: {expected}"]


@pytest.mark.parametrize("kind", ["", "type: local, "])
def test_a_local_forge_has_no_address_and_no_password_is_repeated(kind: str) -> None:
    forge = f"forge: {{{kind}repository: 'https://ana:hunter2@git.example.com/x.git'}}"
    (said,) = found(f"{HEAD}spec:\n  clusters: [{{name: prod}}]\n  {forge}\n")
    assert "spec.forge.repository: found an address, expected the path" in said
    assert "hunter2" not in said
    text = (
        f"{HEAD}spec: {{clusters: [{{name: prod}}], forge: {{repository: 'file:///srv/x.git'}}}}\n"
    )
    assert found(text) == []


@pytest.mark.parametrize("forge", ["type: github", "type: github, repository: acme/place.ment"])
def test_a_repository_on_github_may_be_named(forge: str) -> None:
    assert found(f"{HEAD}spec: {{clusters: [{{name: prod}}], forge: {{{forge}}}}}\n") == []
