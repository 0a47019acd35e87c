"""Clusters in files beside `.gitbot.yaml`: every mistake at its place in its own file."""

import pytest

from gitbot.errors import InvalidInput
from gitbot.settings import ClusterSettings, Settings, among, not_at_hand, read_settings

HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
CLUSTER = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Cluster\n"
FROM = "spec: {clustersFrom: clusters}\n"
A = f"{CLUSTER}metadata: {{name: a}}\n"


def read(spec: str, **files: str) -> tuple[Settings | None, list[str]]:
    beside = among({f"clusters/{name}.yaml": text.encode() for name, text in files.items()})
    settings, findings = read_settings((HEAD + spec).encode(), ".gitbot.yaml", beside)
    return settings, [str(finding) for finding in findings]


def test_clusters_of_files_come_after_those_of_the_configuration_by_path() -> None:
    spec = "spec: {clustersFrom: clusters, clusters: [{name: m}]}\n"
    text = f"{CLUSTER}metadata: {{name: z}}\nspec: {{context: z@prod, timeZone: Europe/Madrid}}\n"
    settings, findings = read(spec, b=A, a=f"{text}---\n{CLUSTER}metadata: {{name: y}}\n")
    assert findings == []
    assert settings is not None
    assert [cluster.name for cluster in settings.clusters] == ["m", "z", "y", "a"]
    zed = ClusterSettings(name="z", context_name="z@prod", time_zone="Europe/Madrid")
    assert settings.cluster("z") == zed


def test_a_folder_of_clusters_that_is_not_named_is_not_read() -> None:
    settings, findings = read("spec: {clusters: [{name: m}]}\n", kustomization="kind: [broken\n")
    assert findings == []
    assert settings == Settings(clusters=(ClusterSettings(name="m"),))


def test_files_that_are_not_at_hand_leave_the_clusters_of_the_configuration() -> None:
    settings, findings = read_settings((HEAD + FROM).encode(), ".gitbot.yaml", not_at_hand)
    assert findings == ()
    assert settings is not None
    assert (settings.clusters, settings.clusters_from) == ((), "clusters")


WRONG: list[tuple[str, dict[str, str], str]] = [
    ("spec: {mode: Observe}\n", {"a": A},
     (".gitbot.yaml:3:1: spec.clusters: found nothing, expected a list of clusters, or "
      "clustersFrom and a folder with their files; add clusters")),
    (FROM, {},
     (".gitbot.yaml:3:22: spec.clustersFrom: found no file of a cluster below clusters, expected "
      "at least one; add clusters/NAME.yaml, or clusters here")),
    ("spec: {clustersFrom: 'clusters/*'}\n", {"a": A},
     ('.gitbot.yaml:3:22: spec.clustersFrom: found "clusters/*", expected a folder of its own, '
      "without `*`; write clusters, or another folder that has only files of clusters")),
    ("spec: {clustersFrom: intents/a}\n", {"a": A},
     ('.gitbot.yaml:3:22: spec.clustersFrom: found "intents/a", expected a folder of its own, '
      "without `*`; write clusters, or another folder that has only files of clusters")),
    (FROM, {"a": A, "b": A},
     ('clusters/b.yaml:3:18: metadata.name: found "a" again, expected every cluster once; it '
      "stands in clusters/a.yaml:3; rename or remove it")),
    ("spec:\n  clustersFrom: clusters\n  clusters: [{name: a}]\n", {"a": A},
     ('clusters/a.yaml:3:18: metadata.name: found "a" again, expected every cluster once; it '
      "stands in .gitbot.yaml:5; rename or remove it")),
    ("spec: {clustersFrom: clusters, clusters: [{name: m, context: b}]}\n",
     {"b": f"{CLUSTER}metadata: {{name: b}}\n"},
     ('clusters/b.yaml:3:18: metadata.name: found the context "b", expected one that no other '
      "cluster has; cluster m in .gitbot.yaml:3 has it; name the context of this cluster")),
    (FROM, {"a": A, "b": f"{CLUSTER}metadata: {{name: b}}\nspec: {{context: a}}\n"},
     ('clusters/b.yaml:4:17: spec.context: found the context "a", expected one that no other '
      "cluster has; cluster a in clusters/a.yaml:3 has it; name the context of this cluster")),
    (FROM, {"a": f"{A}spec: {{timezone: UTC, limits: {{reserve: 2, parallel: 2}}}}\n"},
     ('clusters/a.yaml:4:8: spec.timezone: found the unknown field "timezone", expected context, '
      "timeZone, limits, load, healthGates, schedulerConfig or "
      "oneZoneAtATime; did you mean timeZone?\n"
      "clusters/a.yaml:4:41: spec.limits.reserve: found reserve 2 of parallel 2, expected less: "
      "2 - 2 = 0 leaves gitbot no migration; write reserve: 1, or raise parallel")),
    (FROM, {"a": A, "b": "apiVersion: kustomize.config.k8s.io/v1\nkind: Kustomization\n"},
     ('clusters/b.yaml:1:13: apiVersion: found "kustomize.config.k8s.io/v1", expected '
      "placement.gitbot.dev/v1alpha1; write apiVersion: placement.gitbot.dev/v1alpha1\n"
      'clusters/b.yaml:2:7: kind: found "Kustomization", expected Cluster; write kind: Cluster')),
    ("spec: {clustersFrom: clusters, mode: x}\n", {"a": f"{CLUSTER}spec: {{}}\n"},
     ('.gitbot.yaml:3:38: spec.mode: found "x", expected Enforce or Observe\n'
      "clusters/a.yaml:1:1: metadata: found nothing, expected a mapping; add metadata")),
    (FROM, {"a": ""},
     ("clusters/a.yaml:1:1: found a file without a document, expected at least one; write one, or "
      "delete the file")),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "files", "expected"), WRONG)
def test_wrong(spec: str, files: dict[str, str], expected: str) -> None:
    assert read(spec, **files)[1] == expected.split("\n")


M = "spec:\n  clustersFrom: clusters\n  clusters: [{name: m, context: here}]\n"
HERE = f"{CLUSTER}metadata: {{name: x}}\nspec: {{context: here}}\n"
LIKE_A = f"{CLUSTER}metadata: {{name: x}}\nspec: {{context: a}}\n"


@pytest.mark.parametrize(
    ("files", "sound", "stopped"),
    [
        pytest.param({"a": A, "b": f"{CLUSTER}metadata: {{name: x}}\nspec: {{a: 1}}\n"},
                     ["m", "a"], ["x"], id="unknown field"),
        pytest.param({"a": A, "x": "kind: ["}, ["m", "a"], ["x"], id="no YAML"),
        pytest.param({"b": f"{A}---\nkind: ["}, ["m"], ["a"], id="a part of a file"),
        pytest.param({"a": A, "b": A}, ["m"], ["a"], id="one name twice"),
        pytest.param({"a": A, "x": LIKE_A}, ["m"], ["a", "x"], id="one context twice"),
        pytest.param({"a": A, "x": HERE}, ["m", "a"], ["x"], id="the configuration's context"),
        pytest.param({"a": A, "x": A.replace("a}", "m}")}, ["m", "a"], [],
                     id="the configuration's name"),
        pytest.param({"a": A}, ["m", "a"], [], id="no error"),
    ],
)  # fmt: skip
def test_an_error_stops_the_clusters_of_its_file(
    files: dict[str, str], sound: list[str], stopped: list[str]
) -> None:
    settings, _ = read(M, **files)
    assert settings is not None
    assert [cluster.name for cluster in settings.clusters] == sound
    assert sorted(settings.unread) == stopped
    assert settings.cluster_names == (*sound, *stopped)
    for name in stopped:
        with pytest.raises(InvalidInput, match=r"^clusters/"):
            settings.check_read(name)
    settings.check_read("m")


def test_a_file_that_cannot_be_read_may_be_that_of_any_unknown_cluster() -> None:
    settings, _ = read(M, x="kind: [")
    assert settings is not None
    assert settings.errors_of("prod") == settings.errors_of("x") != ()
    assert settings.errors_of("m") == ()


def test_other_files_are_left_alone_but_for_another_ending_of_yaml() -> None:
    files = {"clusters/README.md": b"#", "clusters/team/a.yaml": A.encode()}
    settings, findings = read_settings((HEAD + FROM).encode(), "f", among(files))
    assert (settings is not None, findings) == (True, ())
    files["clusters/b.yml"] = A.encode()
    settings, (finding,) = read_settings((HEAD + FROM).encode(), "f", among(files))
    assert settings is not None
    assert [*settings.unread] == ["b"]
    assert str(finding) == (
        'clusters/b.yml:1:1: found the ending ".yml", expected .yaml; rename the file'
    )
