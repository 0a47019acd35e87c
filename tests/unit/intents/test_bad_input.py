"""The catalogue of bad input: every case with its exact findings, none slow, none large.

`bad_input/<case>.yaml` is a file below `intents/prod/`, `<case>.txt` what is said about it:
`severity code line:column: key.path: found ..., expected ...; hint`.
"""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gitbot.intents import read_intents
from gitbot.model.plan.findings import Finding, has_errors
from gitbot.settings import ClusterSettings, Settings

FOLDER = Path(__file__).parent / "bad_input"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
ONLY_WARNED = {"050b-lost-occurrence", "051-start-twice", "141-drain-without-nodes"}
SETTINGS = Settings(clusters=(ClusterSettings(name="prod"),))

REQUEST = b"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: move, namespace: customapp}
spec:
  vms: {names: [db-1]}
"""

# What is too large to be kept as a file: name, text, and how its first finding begins.
LARGE: dict[str, tuple[bytes, str]] = {
    "90,000 keys": (
        b"".join(b"k%d: v\n" % number for number in range(90_000)),
        "10000:8: k9999: found more than 20000 nodes",
    ),
    "a key 100,000 times": (
        b"".join(b"key: v\n" for number in range(100_000)),
        "2:1: key: found the key",
    ),
    "50 MB": (b"# x\nnote: a", "2:7: found a file of 50000010 bytes"),
    "50 MB of brackets": (b"[", "1:33: found a file of 50000000 bytes"),
    "100,000 brackets": (b"[" * 100_000, "1:33: [0][0][0][0][0][0][0][0]: found more than 32"),
    "200 kB of sexagesimal": (
        b"a: " + b"1:" * 100_000 + b"1\n",
        "1:4: a: found a scalar of 200001",
    ),
    "a million control characters": (
        b"\x01" * 1_000_000,
        "1:1: found a scalar of 1000000 characters",
    ),
    "250,000 no-break spaces": (("\u00a0x\n" * 250_000).encode(), "1:1: found U+00A0"),
    "20,000 unknown fields": (
        REQUEST + b"".join(b"  attempt%d: 1\n" % number for number in range(9_900)),
        "6:3: spec.attempt0: found the unknown field",
    ),
    "20,000 anchors": (
        b"a:\n" + b"".join(b"- &a%d x\n" % number for number in range(19_000)),
        "1:1: apiVersion: found nothing",
    ),
    "5,000 documents": (REQUEST + b"---\n" + b"---\n".join([REQUEST] * 1_000), "9:1: metadata: "),
    "three recurrences that never occur": (
        b"---\n".join(
            b"apiVersion: placement.gitbot.dev/v1alpha1\nkind: FreezeWindow\n"
            b"metadata: {name: a%d}\nspec:\n  schedule: {start: '2026-01-01T00:0%d', timeZone: UTC,"
            b" duration: PT1H, recurrence: 'FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31'}\n"
            % (number, number)
            for number in range(3)
        ),
        "5:84: spec.schedule.recurrence: found a schedule without occurrence",
    ),
}


def large(name: str) -> bytes:
    """The text of a case of LARGE; those of 50 MB repeat their last byte."""
    data = LARGE[name][0]
    return data + data[-1:] * 49_999_999 if name.startswith("50 MB") else data


def lines(findings: tuple[Finding, ...], file: str) -> str:
    return "".join(
        f"{finding.severity} {finding.code} {str(finding).removeprefix(file + ':')}\n"
        for finding in findings
    )


@pytest.mark.parametrize("case", CASES)
def test_every_case_says_exactly_this(case: str) -> None:
    file = f"intents/prod/{case}.yaml"
    data = (FOLDER / f"{case}.yaml").read_bytes()
    _, findings = read_intents({file: data}, SETTINGS, "prod")
    assert lines(findings, file) == (FOLDER / f"{case}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_every_case_is_refused_at_a_place_that_exists(case: str) -> None:
    file = f"intents/prod/{case}.yaml"
    data = (FOLDER / f"{case}.yaml").read_bytes()
    _, findings = read_intents({file: data}, SETTINGS, "prod")
    assert findings
    assert has_errors(findings) is (case not in ONLY_WARNED)
    for finding in findings:
        assert finding.file == file
        assert finding.line >= 1
        assert finding.column >= 1
        assert finding.message.startswith(("found ", "document ")) or ": found " in finding.message
        assert ", expected " in finding.message


def test_all_cases_together_are_the_sum_of_each() -> None:
    """All errors of all files come in one run."""
    files = {f"intents/prod/{case}.yaml": (FOLDER / f"{case}.yaml").read_bytes() for case in CASES}
    _, together = read_intents(files, SETTINGS, "prod")
    for file, data in files.items():
        _, alone = read_intents({file: data}, SETTINGS, "prod")
        here = {finding for finding in together if finding.file == file}
        # a window or an identity may stand in another of these files; nothing else may differ
        shared = {"intents/unknown-window", "intents/duplicate-identity", "intents/never-open"}
        assert {f for f in here if f.code not in shared} == {
            f for f in alone if f.code not in shared
        }


@pytest.mark.parametrize("name", sorted(LARGE))
def test_large_input_is_refused_with_a_place(name: str) -> None:
    _, findings = read_intents({"f.yaml": large(name)}, SETTINGS, "prod")
    assert str(findings[0]).removeprefix("f.yaml:").startswith(LARGE[name][1])


@pytest.mark.parametrize("name", sorted(LARGE))
def test_no_input_takes_a_second_of_cpu_or_256_mib(name: str) -> None:
    """In a child with both limits set; up to a second of its two is for starting Python."""
    program = (
        "import sys; from gitbot.intents import read_intents; "
        "from gitbot.settings import ClusterSettings, Settings; "
        "s = Settings(clusters=(ClusterSettings(name='prod'),)); "
        "data = sys.stdin.buffer.read(); "
        "print(len(read_intents({'f.yaml': data}, s, 'prod')[1]))"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (256 * 1024 * 1024, 256 * 1024 * 1024))
        resource.setrlimit(resource.RLIMIT_CPU, (2, 2))

    done = subprocess.run(
        [sys.executable, "-c", program],
        input=large(name),
        capture_output=True,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) > 0
