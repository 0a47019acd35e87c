"""Second step of the action: run one gitbot command, and tell GitHub what came of it.

Only the standard library. Every input comes through the environment; arguments are one a line and
reach gitbot as they are, past any shell. What gitbot gets:

    KUBECONFIG                        a private file with the kubeconfig, or the path that was given
    GITHUB_TOKEN                      the token
    GITBOT_GITHUB_APP_ID, _APP_KEY_FILE, _APP_INSTALLATION_ID
                                      the GitHub App; the key in a private file

The runner signals this process when a run is cancelled; the signal goes on to gitbot, which then
has ten seconds to finish the step that it is in.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

PREFIX = "GITBOT_INPUT_"
# what each command prints that a program reads; others print for people
DOCUMENTS = {
    "apply": "json",
    "check": "github",
    "comment": "json",
    "lint": "github",
    "propose": "json",
    "reconcile": "json",
}
WHERE = ("SERVER_URL", "REPOSITORY")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LOOK_SECONDS = 0.2  # a signal just before a wait is seen after it
OIDC = "oidc"  # name of the context in a kubeconfig of our own making
SUMMARY_BYTES = 900_000  # GitHub refuses a step's summary above 1 MiB
ANNOTATIONS = ("::error", "::warning", "::notice")


def arguments(text: str) -> list[str]:
    """One argument a line; empty lines count for nothing."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def program(install_from: str) -> str:
    """The gitbot to run."""
    if install_from == "path":
        return shutil.which("gitbot") or "gitbot"
    temporary = os.environ.get("RUNNER_TEMP") or tempfile.gettempdir()
    return str(Path(temporary) / "gitbot-environment" / "bin" / "gitbot")


def command_line(name: str, given: list[str], reports: Path, *, oidc: bool = False) -> list[str]:
    """Command and arguments, with a form that a program reads where none was asked for."""
    line = [name, *given, *(["--context", OIDC] if oidc else [])]
    if name in DOCUMENTS and not any(item in {"-o", "--output"} for item in given):
        line += ["-o", DOCUMENTS[name]]
    if name == "check" and "--reports" not in given:
        line += ["--reports", str(reports)]
    return line


def inner_environment(inputs: Mapping[str, str], private: Path) -> dict[str, str]:
    """The environment of gitbot: this one without the inputs, with what stands for them."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(PREFIX)}
    kubeconfig = inputs.get("KUBECONFIG", "")
    if inputs.get("CLUSTER_SERVER"):
        text = json.dumps(oidc_kubeconfig(inputs))
        kept["KUBECONFIG"] = private_file(private / "kubeconfig", text)
    elif "\n" in kubeconfig.strip():
        kept["KUBECONFIG"] = private_file(private / "kubeconfig", kubeconfig)
    elif kubeconfig.strip():
        kept["KUBECONFIG"] = kubeconfig.strip()
    if inputs.get("TOKEN"):
        kept["GITHUB_TOKEN"] = inputs["TOKEN"]
    if inputs.get("APP_ID"):
        kept["GITBOT_GITHUB_APP_ID"] = inputs["APP_ID"]
        kept["GITBOT_GITHUB_APP_KEY_FILE"] = private_file(
            private / "app.pem", inputs.get("APP_KEY", "")
        )
        if inputs.get("APP_INSTALLATION"):
            kept["GITBOT_GITHUB_APP_INSTALLATION_ID"] = inputs["APP_INSTALLATION"]
    return kept


def report_environment(inputs: Mapping[str, str], reports: Path) -> dict[str, str]:
    """Where gitbot puts the pages of the plans that it shows, and what their comments link."""
    found = {"GITBOT_REPORTS": str(reports), "GITBOT_DOCS": docs(os.environ)}
    if inputs.get("KEEP_REPORTS") == "true":
        server, repository = (os.environ.get(f"GITHUB_{key}", "") for key in WHERE)
        run = os.environ.get("GITHUB_RUN_ID", "")
        found["GITBOT_REPORT_ADDRESS"] = f"{server}/{repository}/actions/runs/{run}#artifacts"
    return found


def docs(environment: Mapping[str, str]) -> str:
    """The address of the documentation of this very action: the runner keeps it below its name."""
    parts = Path(__file__).parts
    if "_actions" not in parts:
        return ""
    owner, name, ref = parts[parts.index("_actions") + 1 :][:3]
    server = environment.get("GITHUB_SERVER_URL", "")
    return f"{server}/{owner}/{name}/blob/{ref}/docs/reference"


def upload(inputs: Mapping[str, str], given: list[str], reports: Path) -> str:
    """Give the findings to code scanning; what came of it in one annotation, "" for nothing."""
    file = reports / "findings.sarif"
    ref, commit = inputs.get("SARIF_REF", ""), inputs.get("SARIF_COMMIT", "")
    if not file.is_file() or not commit:
        return ""
    if not ref:
        return notice("a pull request of a fork: its findings are in the checks alone")
    document = json.loads(file.read_text(encoding="utf-8"))
    named = given[given.index("--cluster") + 1] if "--cluster" in given[:-1] else "cluster"
    for run in document["runs"]:
        run["automationDetails"] = {"id": f"gitbot/{named}/"}
    packed = gzip.compress(json.dumps(document).encode(), mtime=0)
    body = {"commit_sha": commit, "ref": ref, "sarif": base64.b64encode(packed).decode("ascii")}
    api, repository = (os.environ.get(f"GITHUB_{key}", "") for key in ("API_URL", "REPOSITORY"))
    request = urllib.request.Request(  # noqa: S310 - the runner names the server
        f"{api}/repos/{repository}/code-scanning/sarifs",
        data=json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {inputs.get('TOKEN', '')}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=60):  # noqa: S310
            return ""
    except urllib.error.HTTPError as error:
        return notice(f"skipped, GitHub answered {error.code} ({error.reason}): it takes Code "
                      "Security and the permission security-events: write")  # fmt: skip
    except OSError as error:
        return notice(f"skipped, GitHub could not be reached: {error}")


def notice(words: str) -> str:
    """One line that the run's page shows."""
    inert = words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::notice title=gitbot code scanning::{inert}\n"


def oidc_kubeconfig(inputs: Mapping[str, str]) -> dict[str, Any]:
    """A kubeconfig that asks GitHub for a new token whenever the API server wants one."""
    cluster = {"server": inputs["CLUSTER_SERVER"].strip()}
    if inputs.get("CLUSTER_CA", "").strip():
        data = base64.b64encode(inputs["CLUSTER_CA"].strip().encode() + b"\n").decode("ascii")
        cluster["certificate-authority-data"] = data
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [
            "-I",
            str(Path(__file__).resolve().with_name("oidc_token.py")),
            inputs.get("OIDC_AUDIENCE") or "gitbot",
        ],
        "interactiveMode": "Never",
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": OIDC, "cluster": cluster}],
        "users": [{"name": OIDC, "user": {"exec": plugin}}],
        "contexts": [{"name": OIDC, "context": {"cluster": OIDC, "user": OIDC}}],
        "current-context": OIDC,
    }


def private_file(path: Path, text: str) -> str:
    """A file that nobody else reads."""
    path.touch(mode=0o600)
    path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    return str(path)


def call(line: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """Run gitbot: exit code, what it printed, what it said. Its talk goes to the log at once.

    Signals go on to it, and it decides when to end; those that come before it runs, as soon as it
    does.
    """
    early: list[int] = []
    child: subprocess.Popen[str] | None = None

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    for number in SIGNALS:
        signal.signal(number, pass_on)
    child = subprocess.Popen(
        line,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    for caught in early:
        child.send_signal(caught)
    printed: list[str] = []
    said: list[str] = []
    readers = (
        threading.Thread(target=printed.extend, args=(child.stdout,)),
        threading.Thread(target=tell, args=(child.stderr, said)),
    )
    # Python acts on a signal in this thread only, and sees at once none that another one got
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    for reader in readers:
        reader.start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    for reader in readers:
        while reader.is_alive():
            reader.join(LOOK_SECONDS)
    return child.wait(), "".join(printed), "".join(said)


def tell(spoken: Iterable[str], said: list[str]) -> None:
    """Each line into `said`, and into the log as it comes, as long as anybody reads that."""
    for line in spoken:
        said.append(line)
        with suppress(OSError, ValueError):
            print(line, end="", flush=True)


def outputs(code: int, printed: str, reports: Path) -> dict[str, str]:
    """The outputs of the action."""
    document = read_json(printed)
    plan = read_json(text_of(reports / "plan.json"))
    found = {
        "exit-code": str(code),
        "digest": str(plan.get("digest") or document.get("digest") or ""),
        "hand-over": "true" if hands_over(document) else "",
        "start-pass": "true" if document.get("startPass") else "",
        "reports": str(reports),
    }
    return {key: value.replace("\n", " ") for key, value in found.items()}


def hands_over(document: dict[str, Any]) -> bool:
    """Whether a pass ended with work left that somebody should go on with at once."""
    applied = document.get("applied", document)
    return isinstance(applied, dict) and bool(applied.get("unfinished"))


def read_json(text: str) -> dict[str, Any]:
    """The one object that the text is; empty where it is something else."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def text_of(path: Path) -> str:
    """The text of a file; empty where there is none."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def summary(name: str, code: int, printed: str, said: str, reports: Path) -> str:
    """What the run's page shows: the comment of a check, else what gitbot said and printed."""
    comment = text_of(reports / "comment.md")
    if comment:
        return fit(comment)
    fence = "`" * 12  # longer than any run of backticks that gitbot lets through
    told = "\n".join(text.strip("\n") for text in (said, printed) if text.strip())
    return f"### gitbot {name}: exit code {code}\n\n{fence}\n{fit(told)}\n{fence}\n"


def failure(code: int, said: str) -> str:
    """The annotation of a run that could not do its work; "" for any other."""
    if code not in (2, 3):
        return ""
    lines = [line for line in said.splitlines() if line.startswith(("error:", "Error:"))]
    words = (lines or said.splitlines() or ["no reason was given"])[-1]
    inert = words.replace("%", "%25").replace("\r", "%0D")
    return f"::error title=gitbot::{inert}\n"


def fit(text: str) -> str:
    """The text, cut where GitHub would refuse all of it."""
    data = text.encode()
    if len(data) <= SUMMARY_BYTES:
        return text
    return data[:SUMMARY_BYTES].decode("utf-8", "ignore") + "\n... cut here\n"


def append(variable: str, text: str) -> None:
    """Add to one of the files that the runner reads; nothing outside of Actions."""
    path = os.environ.get(variable)
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def main() -> int:
    """Run the command; the exit code is gitbot's, or 0 for findings that are only reported."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # the log of a machine may not be UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
    inputs = {key.removeprefix(PREFIX): value for key, value in os.environ.items()
              if key.startswith(PREFIX)}  # fmt: skip
    temporary = os.environ.get("RUNNER_TEMP") or tempfile.gettempdir()
    private = Path(tempfile.mkdtemp(prefix="gitbot-private-", dir=temporary))
    reports = Path(tempfile.mkdtemp(prefix="gitbot-reports-", dir=temporary))
    name = inputs.get("COMMAND", "").strip()
    given = arguments(inputs.get("ARGUMENTS", ""))
    words = command_line(name, given, reports, oidc=bool(inputs.get("CLUSTER_SERVER")))
    line = [program(os.environ.get("GITBOT_INSTALL_FROM", "")), *words]
    # nothing that gitbot quotes can act as a workflow command but its own annotations, made inert
    word = secrets.token_hex(16)
    print(f"::stop-commands::{word}", flush=True)
    try:
        environment = inner_environment(inputs, private) | report_environment(inputs, reports)
        code, printed, said = call(line, environment)
    except OSError as error:
        code, printed, said = 2, "", f"error: gitbot cannot be run: {error.strerror}\n"
        print(said, end="")
    finally:
        shutil.rmtree(private, ignore_errors=True)
    annotated = DOCUMENTS.get(name) == "github" and line[-1] != "json"
    if not annotated:
        print(printed, end="")
    print(f"\n::{word}::", flush=True)
    if annotated:
        print("".join(f"{item}\n" for item in printed.splitlines() if item.startswith(ANNOTATIONS)))
    print(failure(code, said), end="")
    print(upload(inputs, given, reports), end="")
    found = outputs(code, printed, reports)
    append("GITHUB_OUTPUT", "".join(f"{key}={value}\n" for key, value in found.items()))
    append("GITHUB_STEP_SUMMARY", summary(name, code, printed, said, reports))
    return 0 if code == 1 and inputs.get("FINDINGS") == "report" else code


if __name__ == "__main__":
    sys.exit(main())
