"""Start-up: --version and --help import nothing heavy, and lint only what reads intents."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitbot.cli.commands.init import init

HEAVY = ("kubernetes", "github", "git", "pydantic", "numpy", "yaml", "jinja2", "requests")
PROBE = """
import sys
from gitbot.cli.main import main
try:
    main([{argument!r}])
except SystemExit as ended:
    assert ended.code == 0, ended.code
loaded = {{name.partition(".")[0] for name in sys.modules}}
print("heavy:", sorted(loaded & set({heavy!r})), file=sys.stderr)
"""


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_nothing_heavy_is_imported(argument: str) -> None:
    code = PROBE.format(argument=argument, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "heavy: []" in done.stderr
    assert "gitbot" in done.stdout


NO_WORK_OF_LINT = tuple(name for name in HEAVY if name not in {"pydantic", "yaml"})
BAD = """
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: move, namespace: customapp}
spec: {vms: {names: [db-1]}, attemps: 2}
"""


@pytest.mark.parametrize("findings", [False, True])
@pytest.mark.parametrize("output", ["text", "json", "sarif", "junit", "github"])
def test_lint_loads_no_numpy_and_no_client(tmp_path: Path, output: str, *, findings: bool) -> None:
    assert CliRunner().invoke(init, [str(tmp_path)]).exit_code == 0
    if findings:
        (tmp_path / "intents/prod/bad.yaml").write_text(BAD)
    code = f"""
import sys
from gitbot.cli.main import main
try:
    main(["lint", "--output", {output!r}])
except SystemExit as ended:
    assert ended.code == {int(findings)}, ended.code
loaded = {{name.partition(".")[0] for name in sys.modules}}
assert "pydantic" in loaded, "nothing was read"
print("heavy:", sorted(loaded & set({NO_WORK_OF_LINT!r})), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert "heavy: []" in done.stderr


def test_a_pass_imports_no_planner_before_its_first_plan() -> None:
    code = """
import sys
import gitbot.cli.commands.reconcile, gitbot.wiring.plan_worker, gitbot.workflows.watch
print([name for name in sys.modules if name.startswith("gitbot.planner.p")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("device", "mode"), [("/dev/full", "w"), ("/dev/null", "r")])
def test_output_that_cannot_be_written_is_no_bug(device: str, mode: str) -> None:
    with open(device, mode) as out:  # noqa: PTH123 - a device, not a file
        done = subprocess.run(
            [sys.executable, "-m", "gitbot", "version"],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output could not be written")


@pytest.mark.parametrize("words", ["lint", "nonsense"])
def test_talk_that_cannot_be_written_ends_with_a_code_of_gitbot(tmp_path: Path, words: str) -> None:
    assert CliRunner().invoke(init, [str(tmp_path)]).exit_code == 0
    shell = f'"$1" -m gitbot {words} 2>/dev/full; echo "$?" > ended'
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    line = ["sh", "-c", shell, "sh", sys.executable]
    subprocess.run(line, cwd=tmp_path, env=environment, check=True, timeout=60)
    assert (tmp_path / "ended").read_text() == "2\n"


def test_output_is_utf_8_in_every_locale() -> None:
    code = (
        "from gitbot.cli.commands import version; from gitbot.cli.main import main; import click; "
        "version.version.callback = lambda **_: click.echo('a → b'); main(['version'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, "a → b\n", b"")


def test_no_room_for_temporary_files_is_not_a_folder_that_was_removed() -> None:
    code = (
        "import tempfile; from gitbot.cli.commands import version; "
        "from gitbot.cli.main import main; "
        "version.version.callback = lambda **_: tempfile.gettempdir(); main(['version'])"
    )
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; "$1" -c "$2"', "sh", sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "error: no folder takes temporary files: set TMPDIR to one with room that you may write\n"
    )


def test_the_cycle_collector_runs_in_a_command_and_no_plugin_reads_along() -> None:
    code = (
        "import gc, os, sys; from gitbot.__main__ import main; "
        "from gitbot.cli.commands import version; "
        "version.version.callback = lambda **_: print("
        "gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold()[0], "
        "os.environ['PYDANTIC_DISABLE_PLUGINS']); "
        "sys.argv = ['gitbot', 'version']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True True 200000 __all__\n"


def test_a_pyyaml_without_libyaml_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / ".gitbot.yaml").write_text("kind: Configuration\n")
    program = (
        "import sys; sys.modules['yaml._yaml'] = None; sys.argv = ['gitbot', 'lint']\n"
        "from gitbot.__main__ import main; main()"
    )
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "was built without libyaml" in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.parametrize("closed", [("1",), ("2",), ("0", "1", "2")])
@pytest.mark.parametrize(("words", "code"), [("lint", 0), ("explain vm/a --snapshot -", 2)])
def test_a_stream_that_is_closed_is_no_bug(
    tmp_path: Path, closed: tuple[str, ...], words: str, code: int
) -> None:
    assert CliRunner().invoke(init, [str(tmp_path)]).exit_code == 0
    without = " ".join(f"{number}>&-" for number in closed)
    shell = f'"$1" -m gitbot {words} {without}; echo "$?" > ended'
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    assert (tmp_path / "ended").read_text() == f"{code}\n"
