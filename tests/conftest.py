"""What every test stands on: nothing of the person's machine is read or written."""

import gc
import sys
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import click
import pytest
from hypothesis import settings

import gitbot
from gitbot.cli.main import COLLECT_AFTER
from tests.doubles import canaries

PACKAGE = f"{Path(gitbot.__file__).parent}/"
pytest_plugins = (
    "tests.controlplane.fixtures",
    "tests.controlplane.kubevirt.fixtures",
    "tests.forge.gitea.fixtures",
)

# A law holds however slow the machine is: an example has no deadline.
settings.register_profile("gitbot", deadline=None)
settings.load_profile("gitbot")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a control plane run in one process; those with a group apart from it."""
    for item in items:
        shares = item.get_closest_marker("controlplane") is not None
        if shares and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("plane"))


LONGEST = (
    "test_plans_drawn_by_a_seed[20]", "test_story[rack]", "test_two_thousand_schedules",
    "test_the_tutorial", "test_the_readme", "test_from_a_request_to_the_return_of_the_last_vm",
    "test_the_page_as_it_stands", "test_an_apps_pull_request_is_planned_shown_merged_and_applied",
)  # fmt: skip


class LongestFirst:
    """The longest begin at once: a process that gets them last would keep everybody waiting."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Move them to the front, whatever the order was."""
        items.sort(key=lambda item: item.name not in LONGEST)


def pytest_configure(config: pytest.Config) -> None:
    """Collect cycles as seldom as a command does; register what needs another place."""
    gc.set_threshold(COLLECT_AFTER)
    sys.addaudithook(_no_secret_leaves)
    config.pluginmanager.register(LongestFirst())


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder at each look. All are in one: pytest searches where its own folders are."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def _no_machine(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point home, kubeconfig and Git configuration to an empty folder."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KUBECONFIG", str(home / "no-kubeconfig"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture(autouse=True)
def _no_secret(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No command prints, and nothing sends, a token that a test got."""
    echo = click.echo

    def searched(message: object = None, *args: Any, **more: Any) -> None:
        canaries.search("what a command printed", message)
        echo(message, *args, **more)

    monkeypatch.setattr(click, "echo", searched)
    monkeypatch.setenv("GITBOT_PROMETHEUS_TOKEN", canaries.plant("c4n4ry-of-prometheus"))
    canaries.found()
    yield
    canaries.search_files()
    assert canaries.found() == []


def _no_secret_leaves(event: str, arguments: tuple[Any, ...]) -> None:
    """In what gitbot gives to a process, which everybody on a machine can read, or in its files.

    Tests may do as they like.
    """
    if event == "subprocess.Popen":
        if _by_gitbot():
            canaries.search("the arguments of a process", list(map(str, arguments[1])))
    elif event == "os.rename":
        canaries.renamed(arguments[0], arguments[1])
    elif event == "open" and canaries.is_written(arguments[1], arguments[2]) and _by_gitbot():
        canaries.wrote(arguments[0])


def _by_gitbot() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Nor does a test's process write one: output, errors and log are searched as captured."""
    report = yield
    for name, text in report.sections:
        canaries.search(name, text)
    places = canaries.found() if call.when == "call" and report.passed else []
    if places:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: {', '.join(places)}"
    return report
