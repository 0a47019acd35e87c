"""`gitbot lint` over whole little repositories."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gitbot.cli.commands.init import init
from gitbot.cli.commands.lint import lint
from gitbot.cli.shared import lint_files as tree
from gitbot.cli.shared.linting import lint as lint_files
from gitbot.errors import GitbotError, RepositoryError, UsageError

BAD = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: move, namespace: customapp}
spec:
  vms: {names: [db-1]}
  attemps: 2
"""
FINDING = (
    'intents/prod/bad.yaml:6:3: spec.attemps: found the unknown field "attemps", expected '
    "vms, target, pin, reason, note, notBefore, deadline, window, attempts or allowBreach; "
    "did you mean attempts? [error intents/unknown-field]\n"
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An example repository, and the present directory in it."""
    folder = tmp_path / "repository"
    assert CliRunner().invoke(init, [str(folder)]).exit_code == 0
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(lint, list(arguments), standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_clean_repository_says_so_on_stderr_only(root: Path) -> None:
    result = run()
    assert (result.return_value, result.stdout) == (0, "")
    assert result.stderr == "4 files read: clean\n"


def test_a_finding_has_its_place_and_gives_exit_code_1(root: Path) -> None:
    (root / "intents/prod/bad.yaml").write_text(BAD)
    result = run()
    assert (result.return_value, result.stdout) == (1, FINDING)
    assert result.stderr == "5 files read: 1 error, 0 warnings\n"


def test_from_a_folder_below_and_with_paths_only_what_concerns_them_is_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "intents/prod/bad.yaml").write_text(BAD)
    monkeypatch.chdir(root / "intents/prod")
    assert run().stdout == FINDING
    assert run("bad.yaml").return_value == 1
    assert run("../prod").return_value == 1
    assert run("rules.yaml", "requests").return_value == 0
    assert run(str(root)).return_value == 1


def test_warnings_fail_only_when_asked_to(root: Path) -> None:
    text = BAD.replace("MigrationRequest", "MaintenanceWindow").split("spec:")[0]
    text = text.replace(", namespace: customapp", "") + "spec: {drain: {lead: PT1H}}\n"
    (root / "intents/prod/window.yaml").write_text(text)
    assert run().return_value == 0
    assert run("--fail-on", "warning").return_value == 1


@pytest.mark.parametrize("output", ["json", "sarif", "junit", "github"])
def test_every_output_names_the_place(root: Path, output: str) -> None:
    (root / "intents/prod/bad.yaml").write_text(BAD)
    result = run("-o", output)
    assert result.return_value == 1
    assert "intents/prod/bad.yaml" in result.stdout
    assert "found the unknown field" in result.stdout
    if output in {"json", "sarif"}:
        json.loads(result.stdout)
    if output == "github":
        assert result.stdout.startswith("::error file=intents/prod/bad.yaml,line=6,col=3,")


def test_configuration_and_intents_are_judged_in_one_run(root: Path) -> None:
    (root / "intents/prod/bad.yaml").write_text(BAD)
    configuration = root / ".gitbot.yaml"
    configuration.write_text(configuration.read_text().replace("mode: Observe", "mode: observe"))
    lines = run().stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [".gitbot.yaml", "intents/prod/bad.yaml"]


def test_links_executables_and_unreadable_files_are_findings(root: Path) -> None:
    folder = root / "intents/prod"
    (folder / "link.yaml").symlink_to("rules.yaml")
    (folder / "folder").symlink_to("requests")
    (folder / "run.yaml").write_text(BAD)
    (folder / "run.yaml").chmod(0o755)
    os.mkfifo(folder / "pipe.yaml")
    findings = run().stdout.splitlines()
    no_links, x = "gitbot follows no links", "chmod a-x the file"
    assert [line.partition(" [")[0] for line in findings] == [
        f"intents/prod/folder:1:1: found a symbolic link, expected a folder; {no_links}",
        f"intents/prod/link.yaml:1:1: found a symbolic link, expected a file; {no_links}",
        "intents/prod/pipe.yaml:1:1: found a special file, expected a plain file; remove it",
        f"intents/prod/run.yaml:1:1: found an executable file, expected a plain file; {x}",
    ]


def test_an_unreadable_file_is_a_finding(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = tree._contents

    def refuse(path: str) -> bytes:
        if path.endswith("rules.yaml"):
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(tree, "_contents", refuse)
    assert run().stdout == (
        "intents/prod/rules.yaml:1:1: found an unreadable file, expected a readable one; "
        "Permission denied [error files/unreadable]\n"
    )


STRAY = [
    ("intents/bad.yaml", "found an intent file in no cluster's folder"),
    (
        "intents/prdo/bad.yaml",
        'found the cluster "prdo", expected one of .gitbot.yaml; did you mean',
    ),
    ("intents/prod/Rules.yaml", "found a path that differs from"),
    ("intents/prod/bad.yml", 'found the ending ".yml", expected .yaml'),
]


@pytest.mark.parametrize(("path", "says"), STRAY)
def test_files_in_the_wrong_place(root: Path, path: str, says: str) -> None:
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text("{}\n")
    lines = [line for line in run().stdout.splitlines() if line.lower().startswith(path.lower())]
    assert any(says in line for line in lines)


def test_other_files_are_nobodys_business(root: Path) -> None:
    (root / "intents/prod/README.md").write_text("# ours\n")
    (root / "intents/OWNERS").write_text("me\n")
    (root / "vms").mkdir()
    (root / "vms/vm.yaml").write_text("a: [\n")
    assert run().return_value == 0


ERRORS: list[tuple[list[str], type[GitbotError], str]] = [
    (["nowhere.yaml"], UsageError, "there is no file or folder nowhere.yaml"),
    ([".."], UsageError, "there is no .gitbot.yaml in"),
    (["README.md", "/"], UsageError, "is not in the repository"),
    (["--rev", "main"], RepositoryError, "there is no commit 'main'"),
    (["--rev=--output=x"], RepositoryError, "is not a branch, tag or full commit id"),
]


@pytest.mark.parametrize(("arguments", "kind", "says"), ERRORS)
def test_what_cannot_be_evaluated_is_an_error(
    root: Path, arguments: list[str], kind: type[GitbotError], says: str
) -> None:
    with pytest.raises(kind, match=says) as error:
        run(*arguments)
    assert error.value.exit_code == 2


def git(root: Path, *arguments: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    subprocess.run(["git", "-C", str(root), *arguments], check=True, env=environment)


def test_a_revision_is_read_and_not_the_working_tree(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "clean")
    (root / "intents/prod/bad.yaml").write_text(BAD)
    assert run("--rev", "main").return_value == 0
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "bad")
    (root / "intents/prod/bad.yaml").unlink()
    assert run("--rev", "main").stdout == FINDING
    assert run("--rev", "HEAD").stdout == FINDING
    assert run().return_value == 0


def test_a_link_in_a_revision_is_a_finding(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    (root / "intents/prod/link.yaml").symlink_to("rules.yaml")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "link")
    result = run("--rev", "main")
    assert result.return_value == 1
    assert "intents/prod/link.yaml is a symbolic link" in result.stdout


def test_lint_imports_neither_numpy_nor_the_clients(root: Path) -> None:
    program = (
        "import sys; from gitbot.cli.main import cli; "
        "cli.main(['lint'], standalone_mode=False); "
        "print(sorted({'numpy', 'kubernetes', 'github', 'requests', 'jinja2', 'msgspec', 'git'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, check=True, text=True
    )
    assert done.stdout == "[]\n"


def test_a_configuration_that_is_a_link_is_one_finding(root: Path) -> None:
    (root / ".gitbot.yaml").rename(root / "elsewhere.yaml")
    (root / ".gitbot.yaml").symlink_to("elsewhere.yaml")
    assert run().stdout == (
        ".gitbot.yaml:1:1: found a symbolic link, expected a file; "
        "gitbot follows no links [error files/unreadable]\n"
    )


def test_a_revision_without_configuration_says_so(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "intents")
    git(root, "commit", "-q", "-m", "intents only")
    assert run("--rev", "main").stdout.startswith(".gitbot.yaml:1:1: found no configuration")


def test_linting_is_pure_and_sorted() -> None:
    files = {"intents/prod/b.yaml": b"a", "intents/prod/a.yaml": b"[", ".gitbot.yaml": b""}
    findings = lint_files(files)
    assert findings == lint_files(dict(reversed(files.items())))
    assert [finding.file for finding in findings] == [
        ".gitbot.yaml",
        "intents/prod/a.yaml",
        "intents/prod/b.yaml",
    ]


def test_exemptions_and_overrides_of_policies_that_are_not_in_force(root: Path) -> None:
    (root / "policies").mkdir(exist_ok=True)
    (root / "policies" / "exempt.yaml").write_text(
        """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicyExemption
metadata: {name: batch}
spec: {policy: blast-radios, reason: r, owner: o, expires: "2030-01-01T00:00:00Z"}
"""
    )
    with (root / ".gitbot.yaml").open("a") as file:
        file.write("  overrides: [{policy: quorum, owners: ['@ann']}]\n")  # of pack safety
    lines = run().stdout.splitlines()
    (error,) = (line for line in lines if "[error policy/unknown-policy]" in line)
    assert error.startswith('policies/exempt.yaml:1: exemption batch: found the policy "blast-r')
    assert "did you mean blast-radius?" in error
    (warning,) = (line for line in lines if "[warning policy/unknown-policy]" in line)
    assert warning.startswith(".gitbot.yaml:")
    assert 'found the policy "quorum"' in warning


MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db-1, namespace: %s, labels: &labels {app: example-db}}
spec: {template: {metadata: {labels: {%s}}}}
"""
MACHINES = [
    ("example", "app: other", 1),
    ("example", "app: example-db", 0),
    ("elsewhere", "app: other", 0),
]


@pytest.mark.parametrize(("namespace", "labels", "warnings"), MACHINES)
def test_labels_that_only_the_virtual_machine_has_are_pointed_out(
    root: Path, namespace: str, labels: str, warnings: int
) -> None:
    configuration = root / ".gitbot.yaml"
    configuration.write_text(configuration.read_text() + "  manifests: [{path: vms}]\n")
    (root / "vms").mkdir()
    (root / "vms/db.yaml").write_text(MACHINE % (namespace, labels))
    result = run()
    assert result.return_value == 0
    says = (
        "intents/prod/rules.yaml:7:13: spec.selector: found a selector that matches the "
        "VirtualMachine's own labels of example/db-1, expected labels of the VMI; "
    )
    assert [line.startswith(says) for line in result.stdout.splitlines()] == [True] * warnings


def test_a_manifest_that_is_no_yaml_never_looks_clean(root: Path) -> None:
    configuration = root / ".gitbot.yaml"
    configuration.write_text(configuration.read_text() + "  manifests: [{path: vms}]\n")
    (root / "vms").mkdir()
    (root / "vms/db.yaml").write_text("{{ template }}: [\n")
    assert run().stdout.startswith("vms/db.yaml:1:1: found a manifest that cannot be read")


def test_lint_reads_the_configuration_of_the_scheduler(root: Path) -> None:
    file = root / ".gitbot.yaml"
    file.write_text(
        file.read_text().replace("- name: prod ", "- schedulerConfig: s.yaml\n    name: prod ")
    )
    missing = "s.yaml: found no such file, expected that of schedulerConfig"
    assert missing in run().stdout.replace("s.yaml:1:1:", "s.yaml:")
    (root / "s.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- plugins:\n    score:\n      enable: [{name: ImageLocality}]\n"
    )
    misspelled = "found key enable, expected one of disabled, enabled"
    result = run()
    assert result.return_value == 1
    assert result.stdout.startswith("s.yaml:6:")
    assert misspelled in result.stdout
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "scheduler")
    assert misspelled in run("--rev", "HEAD").stdout


CLUSTER = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Cluster\nmetadata: {name: NAME}\n"


def commit(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "clusters")


def test_clusters_of_files_are_read_from_the_tree_and_from_a_commit(root: Path) -> None:
    text = (root / ".gitbot.yaml").read_text()
    (root / ".gitbot.yaml").write_text(text.replace("spec:\n", "spec:\n  clustersFrom: fleet\n"))
    (root / "fleet").mkdir()
    (root / "fleet/lab.yaml").write_text(CLUSTER.replace("NAME", "lab"))
    (root / "intents/lab").mkdir()
    (root / "intents/lab/bad.yaml").write_text(BAD)
    wrong = FINDING.replace("intents/prod/", "intents/lab/")
    assert run().stdout == wrong
    git(root, "init", "-q", "-b", "main")
    commit(root)
    assert run("--rev", "HEAD").stdout == wrong
    (root / "fleet/lab.yaml").write_text(CLUSTER.replace("NAME", "prod"))
    again = run("fleet").stdout
    assert again.startswith('fleet/lab.yaml:3:18: metadata.name: found "prod" again')
    commit(root)
    assert run("--rev", "HEAD", "fleet").stdout == again
    (root / "fleet/more.yaml").symlink_to("lab.yaml")
    assert "fleet/more.yaml:1:1: found a symbolic link" in run("fleet").stdout
    commit(root)
    assert "fleet/more.yaml is a symbolic link" in run("--rev", "HEAD", "fleet").stdout


def test_templates_are_rendered_apart_and_what_nobody_reads_is_named(root: Path) -> None:
    templates = root / "templates"
    templates.mkdir()
    (templates / "values.yaml").symlink_to("/nowhere")
    (templates / "notice.txt.j2").write_text("{{ event }}: {{ text }}\n")
    assert run().return_value == 0
    (templates / "comment.md.j2").write_text("{{ marker }}\n{{ nobody }}\n")
    (templates / "report.j2").write_text("x")
    result = run()
    assert result.return_value == 1
    broken, unknown = result.stdout.splitlines()
    assert broken.startswith(
        "templates/comment.md.j2:2:1: found a template that ends with UndefinedError: 'nobody' is "
        "undefined; its values are marker, cluster, digest"
    )
    assert unknown.startswith(
        "templates/report.j2:1:1: found a template that gitbot does not read, expected one of "
        "comment.md.j2, pull_request.md.j2, notice.txt.j2; "
    )


def test_templates_of_a_commit_are_checked(root: Path) -> None:
    (root / "templates").mkdir()
    (root / "templates/comment.md.j2").write_text("hello\n")
    git = ("git", "-c", "user.name=ann", "-c", "user.email=ann@example.com")
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "start")):
        subprocess.run([*git, *arguments], cwd=root, check=True)
    result = run("--rev", "HEAD")
    assert result.return_value == 1
    assert "templates/comment.md.j2:1:1: found a text that does not show `marker`" in result.stdout
