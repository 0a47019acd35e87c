"""Start-up: --version and --help import nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


def test_output_that_cannot_be_written_is_no_bug() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, not a file
        done = subprocess.run(
            [sys.executable, "-m", "gitbot", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: what was said could not be written")


def test_the_cycle_collector_runs_in_a_command_and_no_plugin_reads_along() -> None:
    code = (
        "import gc, os, sys; from gitbot.__main__ import main; from gitbot.cli import version; "
        "version.command.callback = lambda **_: print("
        "gc.isenabled(), gc.get_freeze_count() > 0, os.environ['PYDANTIC_DISABLE_PLUGINS']); "
        "sys.argv = ['gitbot', 'version']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True True __all__\n"
