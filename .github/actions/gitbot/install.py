"""First step of the action: install gitbot into an environment outside the user's tree.

Only the standard library, because this runs before anything is installed. Reads
GITBOT_INSTALL_FROM (see action.yml), RUNNER_TEMP, and its own place in gitbot's checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PYTHON = (3, 11)


def environment_folder() -> Path:
    """Where gitbot is installed: thrown away with the job."""
    return Path(os.environ.get("RUNNER_TEMP") or "/tmp") / "gitbot-environment"  # noqa: S108


def locked_requirements(source: Path) -> Path:
    """The hash lock that belongs to a checkout, else to the checkout of this action."""
    own = source / "requirements" / "runtime.txt"
    return own if own.is_file() else ROOT / "requirements" / "runtime.txt"


def install(source: Path, folder: Path) -> None:
    """Make the environment: dependencies by the hash lock, then gitbot itself without any."""
    marker = folder / "installed-from"
    if marker.is_file() and marker.read_text(encoding="utf-8") == str(source):
        return
    subprocess.run([sys.executable, "-I", "-m", "venv", "--clear", str(folder)], check=True)
    # -I: the working directory is a checkout, and a pip.py there would be run instead
    pip = [str(folder / "bin" / "python"), "-I", "-m", "pip",
           "--disable-pip-version-check", "--quiet", "--no-input", "install"]  # fmt: skip
    lock = str(locked_requirements(source))
    subprocess.run([*pip, "--require-hashes", "--requirement", lock], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(source)], check=True)
    marker.write_text(str(source), encoding="utf-8")


def main() -> int:
    """Install what was asked for; exit code 2 with one line where that cannot be."""
    if sys.version_info < PYTHON:
        found = ".".join(str(part) for part in sys.version_info[:2])
        print(f"::error::found Python {found}, gitbot needs 3.11 or newer on the runner")
        return 2
    wanted = os.environ.get("GITBOT_INSTALL_FROM", "")
    if wanted == "path":
        return 0
    source = Path(wanted) if wanted else ROOT
    if not source.exists():
        print("::error::install-from names nothing that is there: give a wheel or a checkout")
        return 2
    try:
        install(source.resolve(), environment_folder())
    except subprocess.CalledProcessError as error:
        print(f"::error::gitbot could not be installed: exit code {error.returncode}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
