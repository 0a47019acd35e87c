"""Policies of a repository run under limits: what exceeds them denies, and nothing else ends."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Timer

import pytest

from gitbot.adapters.sandbox import policy_runner
from gitbot.adapters.sandbox.policy_runner import LimitedPolicyRunner
from gitbot.adapters.sandbox.policy_worker import MEMORY
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.problem import PlacementProblem
from gitbot.policy import Verdict, judge, read_policies
from tests.unit.policy.test_files import SHIPPED
from tests.unit.policy.test_judging import INTENTS, SNAPSHOT
from tests.unit.reports.plans import PLAN, STARTS

ROOT = Path(__file__).parents[3]
FOREVER = "cel.bind(x0, [1], " + "".join(
    f"cel.bind(x{n}, [x{n - 1}, x{n - 1}], " for n in range(1, 28)
)
FOREVER += "x27 == x27" + ")" * 28


@pytest.fixture
def runner() -> Iterator[LimitedPolicyRunner]:
    made = LimitedPolicyRunner(seconds=1)
    yield made
    made.close()


def policy(expression: str, *, name: str = "own", over: str = "Move", message: str = "") -> str:
    said = message or "'%s stays'.format([vm.name])"
    words = (
        f"message: {json.dumps(said)}"
        if over == "Plan"
        else f"messageExpression: {json.dumps(said)}"
    )
    return (
        "apiVersion: placement.gitbot.dev/v1alpha1\nkind: PlacementPolicy\n"
        f"metadata: {{name: {name}}}\nspec:\n  over: {over}\n  validations:\n"
        f"  - expression: {json.dumps(expression)}\n    {words}\n  validationActions: [Warn]\n"
    )


def verdict(texts: Mapping[str, str], runner: LimitedPolicyRunner | None) -> Verdict:
    policies, findings = read_policies({}, texts, runner=runner)
    assert findings == ()
    problem = PlacementProblem(cluster="iberia", now=STARTS, snapshot=SNAPSHOT)
    return judge(plan=PLAN, problem=problem, policies=policies, intents=INTENTS, now=STARTS)


def said(made: Verdict) -> list[str]:
    return [f"{item.severity} {item.code}: {item.message}" for item in made.findings]


def test_it_answers_as_this_process_does(runner: LimitedPolicyRunner) -> None:
    own = [
        "vm.labels[?'tier'].orValue('') != 'db' && plan.largestWave < 99",
        "move.wave == 0",
        "now.getHours('Europe/Madrid') == 22 && intent.spec.reason == 'Maintenance'",
        "vm.nothing == 1",
        "quantity('1Gi').isGreaterThan(quantity('1Mi'))",
    ]
    texts = {f"p{n}.yaml": policy(text, name=f"own-{n}") for n, text in enumerate(own[:3])}
    texts |= SHIPPED
    texts["p9.yaml"] = policy(own[4], name="own-9", over="Plan", message="no")
    here = verdict(texts, None)
    assert len(here.findings) > 3
    assert verdict(texts, runner) == here


def test_what_does_not_compile_has_its_place(runner: LimitedPolicyRunner) -> None:
    found = [
        read_policies({}, {"p.yaml": policy("true && nope == 1")}, runner=each)[1]
        for each in (None, runner)
    ]
    assert found[0] == found[1]
    assert "undeclared reference to 'nope'" in found[1][0].message


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        # 3 GiB, without the limit
        ("size(lists.range(100000000)) == 1", f"out of memory: it may use {MEMORY} MiB"),
        # 2 ** 27 comparisons
        (FOREVER, "could not be judged: more than 1 s of processor time"),
        ("lists.range(-1) == []", "vector::reserve"),
    ],
    ids=["memory", "time", "size"],
)
def test_a_bomb_denies(expression: str, why: str, runner: LimitedPolicyRunner) -> None:
    """Whatever the policy's action is: nobody knows what it would have said."""
    texts = {
        "bomb.yaml": policy(expression, name="bomb", over="Plan", message="boom"),
        "own.yaml": policy("move.wave == 0"),
    }
    found = verdict(texts, runner).findings
    assert [(item.code, item.severity) for item in found] == [
        ("policy/bomb", Severity.ERROR),
        ("policy/own", Severity.WARNING),
    ]
    assert found[0].message.endswith(why)


def test_only_the_policies_that_end_the_process_are_unanswered(
    runner: LimitedPolicyRunner,
) -> None:
    texts = {f"own-{n}.yaml": policy("move.wave == 0", name=f"own-{n}") for n in range(3)}
    before = verdict(texts, runner)
    texts["bomb.yaml"] = policy(FOREVER, name="bomb")
    after = verdict(texts, runner)
    assert [item for item in after.findings if item.code != "policy/bomb"] == list(before.findings)
    (bomb,) = (item for item in after.findings if item.code == "policy/bomb")
    assert (bomb.severity, bomb.file, bomb.line) == (Severity.ERROR, "bomb.yaml", 1)


def test_a_process_that_crashes_denies(runner: LimitedPolicyRunner) -> None:
    text = policy(FOREVER, over="Plan", message="boom")
    policies, _ = read_policies({}, {"p.yaml": text}, runner=runner)
    assert runner.process.started is not None
    crash = Timer(0.3, runner.process.started.send_signal, [signal.SIGSEGV])
    crash.start()
    problem = PlacementProblem(cluster="iberia", now=STARTS, snapshot=SNAPSHOT)
    made = judge(plan=PLAN, problem=problem, policies=policies, intents=INTENTS, now=STARTS)
    crash.join()
    assert made.denied
    assert "could not be judged: its process ended with SIGSEGV" in made.findings[0].message


def test_it_knows_nothing_of_the_environment(
    runner: LimitedPolicyRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_canary")
    verdict({"p.yaml": policy("move.wave == 0")}, runner)
    assert runner.process.started is not None
    environment = Path(f"/proc/{runner.process.started.pid}/environ").read_bytes()
    assert {item.partition(b"=")[0] for item in environment.split(b"\0")} == {
        b"PYTHONPATH",
        b"LC_ALL",
        b"",
    }


CHANGES = """\
import ctypes, os, sys
from gitbot.adapters.sandbox.seccomp import limit
limit(1024)
os.chdir(sys.argv[1])
tgkill = {"x86_64": 234, "aarch64": 131}[os.uname().machine]
parent = os.getppid()
tries = [
    lambda: os.remove("file"), lambda: os.rename("file", "other"), lambda: os.mkdir("folder"),
    lambda: os.symlink("file", "link"), lambda: os.link("file", "link"),
    lambda: os.truncate("file", 0), lambda: os.chmod("file", 0o777),
    lambda: open("file", "w"), lambda: open("file", "r+"),
    lambda: open("new", "x"), lambda: os.utime("file"), lambda: os.mkfifo("pipe"),
]
for each in tries:
    try:
        each()
    except PermissionError:
        continue
    print("changed", tries.index(each))
if ctypes.CDLL(None).syscall(tgkill, parent, parent, 0) == 0:
    print("signalled")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux'")
def test_it_changes_no_file_and_signals_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was")
    made = subprocess.run(
        [sys.executable, "-c", CHANGES, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (made.stdout, (tmp_path / "file").read_text()) == ("", "as it was")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


CREDENTIALS = """\
import os, resource, sys
from gitbot.adapters.sandbox.seccomp import limit
if len(sys.argv) > 2:
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
parent = os.getppid()
limit(1024)
for what in (
    lambda: open(f"/proc/{parent}/environ", "rb").read(), lambda: open(sys.argv[1]).read(),
    lambda: os.listdir(os.path.dirname(sys.argv[1])), lambda: os.listdir("/proc"),
    lambda: open("/etc/passwd").read(),
    lambda: open(f"/proc/{parent}/mem", "rb").read(1), lambda: os.listdir(f"/proc/{parent}/fd"),
    lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE),
    lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (9, 9)),
):
    try:
        print("read", what())
    except PermissionError:
        pass
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux'")
@pytest.mark.parametrize("account", [[], ["65534"]], ids=["same account", "nobody"])
def test_it_reaches_no_credential_of_its_parent(tmp_path: Path, account: list[str]) -> None:
    """Neither in the parent's environment, nor in a file, nor by changing the parent's limits."""
    if account and os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    if not has_landlock():
        pytest.skip("this kernel has no Landlock")
    key = tmp_path / "key"
    key.write_text("c4n4ry")
    made = subprocess.run(
        [sys.executable, "-c", CREDENTIALS, str(key), *account],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"GITHUB_TOKEN": "ghp_canary", "PYTHONPATH": str(ROOT)},
    )
    assert (made.stdout, made.stderr) == ("64\n", "")


def has_landlock() -> bool:
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1)) > 0


def printed(program: str, *arguments: str) -> tuple[str, str]:
    """What a new process prints on stdout and stderr."""
    made = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT)},
    )
    return made.stdout, made.stderr


OUTSIDE = """\
import resource
from gitbot.adapters.sandbox.seccomp import limit_time
resource.setrlimit(resource.RLIMIT_CPU, (50, 50))
limit_time(300)
print(resource.getrlimit(resource.RLIMIT_CPU))
"""


def test_a_limit_of_processor_time_from_outside_is_respected() -> None:
    """As by `ulimit -t 50`; nobody may raise it."""
    assert printed(OUTSIDE) == ("(50, 50)\n", "")


STARTED = """\
import resource, time
from gitbot.adapters.sandbox.seccomp import limit_time
while time.process_time() % 1 < 0.5:
    pass
limit_time(1)
left = resource.getrlimit(resource.RLIMIT_CPU)[0] - time.process_time()
print(1 <= left + 0.1 and left <= 2)
"""


def test_time_used_before_a_question_does_not_count_against_it() -> None:
    assert printed(STARTED) == ("True\n", "")


ENDED = """\
import resource, sys
from gitbot.adapters.sandbox.worker_process import EndedError, LimitedProcess
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if sys.argv[2] != "-1":
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
sys.path.append(sys.argv[1])
try:
    LimitedProcess("ends", seconds=7, memory=64, answer=1, wait=60).ask(b"")
except EndedError as error:
    print(error, error.slow)
"""


@pytest.mark.parametrize(
    ("name", "outside", "said"),
    [
        ("SIGXCPU", -1, "more than 7 s of processor time True"),
        ("SIGXCPU", 50, "more than 7 s of processor time True"),
        ("SIGKILL", 50, "more than 50 s of processor time (ulimit -t) True"),
        ("SIGKILL", -1, "its process ended with SIGKILL; it may use 64 MiB of memory False"),
    ],
)
def test_the_limit_that_ended_the_process_is_named(
    tmp_path: Path, name: str, outside: int, said: str
) -> None:
    """The kernel sends SIGXCPU at the soft limit, which is ours, and SIGKILL at the hard one."""
    ends = f"import os, signal\nos.kill(os.getpid(), signal.{name})\n"
    (tmp_path / "ends.py").write_text(ends, encoding="utf-8")
    assert printed(ENDED, str(tmp_path), str(outside)) == (f"{said}\n", "")


REFUSED = """\
import os, socket, sys
from gitbot.adapters.sandbox.seccomp import limit
kept = open(sys.argv[1], "wb", buffering=0)
limit(1024)
def tried(what):
    try:
        what()
    except OSError as error:
        return error.errno
    except MemoryError:
        return "memory"
    return "done"
print(tried(socket.socket), tried(lambda: os.execv("/bin/true", ["true"])),
      tried(lambda: os.kill(os.getppid(), 0)), tried(lambda: kept.write(b"x")),
      tried(lambda: bytearray(2**31)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux'")
def test_it_can_open_no_connection_and_start_no_program(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", REFUSED, str(tmp_path / "file")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.split() == ["1", "1", "1", "27", "memory"]  # EPERM, EPERM, EPERM, EFBIG


def test_texts_that_take_minutes_to_compile_are_refused(runner: LimitedPolicyRunner) -> None:
    texts = {f"p{n}.yaml": "# " + "x" * 100_000 for n in range(21)}
    policies, findings = read_policies(SHIPPED, texts, runner=runner)
    assert [item.code for item in findings] == ["policy/too-long"]
    assert {policy.limited for policy in policies.policies} == {False}


def test_what_is_for_all_policies_together_is_counted_anew_for_each_repository(
    runner: LimitedPolicyRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of expressions, each just within its limits, would take hours and gigabytes."""
    texts = {f"p{n}.yaml": policy("move.wave == 0", name=f"own-{n}") for n in range(3)}
    for limit, why in (("_TOTAL", "used up the time"), ("_MOST_MADE", "compile to more than 0")):
        assert read_policies({}, texts, runner=runner)[1] == ()
        with monkeypatch.context() as patched:
            patched.setattr(policy_runner, limit, 0)
            policies, findings = read_policies({}, texts, runner=runner)
        assert why in findings[0].message
        assert policies.policies == ()
