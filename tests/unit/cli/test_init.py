"""`gitbot init`: what it writes works at once, and it destroys nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gitbot.cli.init import init
from gitbot.cli.linting import lint
from gitbot.documents import read_documents
from gitbot.errors import UsageError
from gitbot.intents.registry import KINDS
from gitbot.settings import read_settings

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GITHUB = (
    *("--forge", "github", "--repository", "acme/placement"),
    *("--action", f"acme/gitbot@{COMMIT}"),
)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(init, list(arguments), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


@pytest.mark.parametrize(
    "option",
    [
        ("--repository", "acme/placement"),
        ("--action", f"acme/gitbot@{COMMIT}"),
        ("--runs-on", "ubuntu-latest"),
        ("--base-branch", "trunk"),
    ],
)
def test_an_option_that_only_github_has_is_not_passed_over(
    tmp_path: Path, option: tuple[str, str]
) -> None:
    folder = tmp_path / "new"
    with pytest.raises(UsageError, match=f"{option[0]} is about GitHub; give --forge github"):
        run(*option, str(folder))
    assert not folder.exists()


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(("forge", "options"), [("local", ()), ("github", GITHUB)])
@pytest.mark.parametrize("cluster", ["prod", "lab-1"])
def test_the_example_lints_clean(
    tmp_path: Path, forge: str, options: tuple[str, ...], cluster: str
) -> None:
    run(str(tmp_path), *options, "--cluster", cluster)
    files = tree(tmp_path)
    assert lint(files) == ()
    settings, _ = read_settings(files[".gitbot.yaml"], ".gitbot.yaml")
    assert settings is not None
    assert (settings.forge.type, settings.clusters[0].name) == (forge, cluster)
    assert (settings.forge.repository == "acme/placement") == (forge == "github")


def test_it_holds_every_kind_that_people_write(tmp_path: Path) -> None:
    run(str(tmp_path))
    kinds = {
        document.value["kind"]
        for path, data in tree(tmp_path).items()
        if path.startswith("intents/")
        for document in read_documents(data, path)[0]
    }
    assert kinds == set(KINDS) - {"PlacementProposal"}


def test_the_paths_written_are_printed(tmp_path: Path) -> None:
    result = run(str(tmp_path))
    assert sorted(result.stdout.split()) == sorted(str(tmp_path / path) for path in tree(tmp_path))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine\n")
    with pytest.raises(UsageError, match=r"README\.md is there already; rename it"):
        run(str(tmp_path))
    assert tree(tmp_path) == {"README.md": b"mine\n"}


@pytest.mark.parametrize("name", ["Prod", "a b", "../x", ""])
def test_a_cluster_name_is_a_label(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="expected an RFC 1123 label"):
        run(str(tmp_path), "--cluster", name)
    assert tree(tmp_path) == {}
