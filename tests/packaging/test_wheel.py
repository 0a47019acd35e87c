"""The wheel holds everything, and works from an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = [
    "gitbot/_shipped/docs/reference/findings.md",
    "gitbot/_shipped/policies/default/blast-radius.yaml",
    "gitbot/_shipped/templates/github/plan.yml",
    "gitbot/_shipped/templates/virtualmachineinstancemigration.json.j2",
    "gitbot/py.typed",
]

pytestmark = pytest.mark.xdist_group("wheel")  # it is built once


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the tree and unpacked into a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    target = folder / "site"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(target), str(wheel)]
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *install],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return target


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run gitbot of the wheel in a folder, with an environment of its own."""
    for name in ("home", "tmp", "work"):
        (folder / name).mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(installed),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "gitbot", *arguments],
        cwd=folder / "work",
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_is_inside(installed: Path, name: str) -> None:
    assert (installed / name).is_file()


def test_no_test_and_no_double_is_inside(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if "." not in path.name} == {"bin", "gitbot"}
    words = {"tests", "doubles", "testing", "recordings"}
    inside = [path.relative_to(installed) for path in (installed / "gitbot").rglob("*")]
    assert [path for path in inside if words & set(path.parts)] == []


def test_kubectl_takes_it_as_a_plugin(installed: Path, tmp_path: Path) -> None:
    kubectl = Path(sys.executable).parent / "kubectl"
    if not kubectl.exists():
        pytest.skip("kubectl is not installed")
    told = {
        "PATH": f"{installed / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(installed),
    }
    done = subprocess.run(
        [kubectl, "gitbot", "version"], env=told, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("gitbot ")


def test_the_demo_runs_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    assert "kni-worker3 does not take it: NodeAffinity" in done.stdout
    assert "performance=high" in done.stdout
    assert "nothing to do: everything that is approved has been carried out" in done.stdout
    assert done.stderr == ""
    left = [path for name in ("home", "tmp", "work") for path in (tmp_path / name).iterdir()]
    assert left == []


def test_a_kept_demo_writes_only_its_folder(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "demo", "--dir", "kept")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"kept"}
    assert list((tmp_path / "tmp").iterdir()) == []
    again = run(installed, tmp_path, "demo", "--dir", "kept")
    assert again.returncode == 2
    assert again.stderr == "error: kept exists; give the name of a new folder\n"


def test_each_rule_of_sarif_links_to_a_page_that_exists(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".gitbot.yaml").write_text("kind: Configuratoin\n", encoding="utf-8")
    done = run(installed, tmp_path, "lint", "-o", "sarif")
    assert done.returncode == 1, done.stderr
    rules = json.loads(done.stdout)["runs"][0]["tool"]["driver"]["rules"]
    pages = {rule["helpUri"].partition("#")[0] for rule in rules}
    page = installed / "gitbot/_shipped/docs/reference/findings.md"
    assert pages == {page.as_uri()}
    assert page.is_file()


def test_init_and_lint_work_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "init", "placement").returncode == 0
    (tmp_path / "work").rename(tmp_path / "old")
    (tmp_path / "old" / "placement").rename(tmp_path / "work")
    done = run(installed, tmp_path, "lint")
    assert done.returncode == 0, done.stdout + done.stderr
