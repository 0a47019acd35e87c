"""Build the control plane: `make controlplane`, or `python -m tests.controlplane.build [NAME ...]`.

Each program is built once for its sources, go.mod, go.sum and the version of Go, into a cache
outside the tree; a second run takes a second. Programs in the folder KUBEBUILDER_ASSETS are used
as they are.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MODULE = Path(__file__).resolve().parent
KEPT = 3  # builds of one program that stay in the cache
REPORT_SECONDS = 15
TEMPORARY = Path(tempfile.gettempdir(), f"gitbot-controlplane-{os.getuid()}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Main:
    """A main package of the module. An `extra` one is never looked for among the assets.

    `package`: a program of another project. Its folder then has a go.mod that requires it. `tags`
    are its build tags, `beside` the folders of its module that it reads when it runs, which are
    copied beside it. `cgo`: it needs a C compiler, and is built only if it is named.
    """

    name: str
    folder: str
    extra: bool = False
    package: str = ""
    tags: str = ""
    beside: tuple[str, ...] = ()
    cgo: bool = False

    @property
    def module(self) -> Path:
        return MODULE / self.folder if self.package else MODULE


MAINS = (
    Main(name="etcd", folder="cmd/etcd"),
    Main(name="kube-apiserver", folder="cmd/kube-apiserver"),
    Main(name="kube-scheduler", folder="cmd/kube-scheduler"),
    Main(name="kube-controller-manager", folder="cmd/kube-controller-manager"),
    Main(name="oracle", folder="oracle", extra=True),
    Main(name="calendar", folder="calendar", extra=True),
    Main(name="cel", folder="cel", extra=True),
    Main(name="helm", folder="helm", extra=True, package="helm.sh/helm/v3/cmd/helm"),
    Main(
        name="promtool",
        folder="promtool",
        extra=True,
        package="github.com/prometheus/prometheus/cmd/promtool",
        tags="remove_all_sd",
    ),
    Main(
        name="gitea",
        folder="gitea",
        extra=True,
        package="code.gitea.io/gitea",
        tags="sqlite,sqlite_unlock_notify",
        beside=("options", "public", "templates"),
        cgo=True,
    ),
)
COMPONENTS = tuple(main.name for main in MAINS if not main.extra)


class CannotBuild(Exception):
    """What stands in the way, in one line."""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where built programs lie: the user's cache, or a temporary folder where there is none."""
    base = environment.get("XDG_CACHE_HOME") or ""
    home = environment.get("HOME") or ""
    if not base and home:
        base = str(Path(home, ".cache"))
    wanted = Path(base or "/dev/null", "gitbot", "controlplane")
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        if os.access(wanted, os.W_OK):
            return wanted
    except OSError:
        pass
    return TEMPORARY


CACHE = cache_folder(os.environ)  # read before the tests take the home folder away
ASSETS = os.environ.get("KUBEBUILDER_ASSETS") or ""


def mains() -> tuple[Main, ...]:
    """The programs whose sources are there."""
    return tuple(m for m in MAINS if m.package or any((MODULE / m.folder).glob("*.go")))


def from_assets(main: Main) -> Path | None:
    """The program in KUBEBUILDER_ASSETS, if it is there."""
    if not ASSETS or main.extra:
        return None
    found = Path(ASSETS, main.name)
    return found if found.is_file() and os.access(found, os.X_OK) else None


@functools.cache
def go_version() -> str:
    """The version of the Go that would build, without the go in front. Raises CannotBuild."""
    go = shutil.which("go")
    if go is None:
        raise CannotBuild("Go is not installed and KUBEBUILDER_ASSETS names no folder with it")
    found = subprocess.run(
        [go, "env", "GOVERSION"], env=_environment(), capture_output=True, text=True, check=False
    ).stdout.strip()
    wanted = re.findall(r"(?m)^go (\S+)$", (MODULE / "go.mod").read_text("utf-8"))[0]
    if _numbers(found) < _numbers(wanted):
        raise CannotBuild(f"Go {wanted} or newer is needed, found {found or 'none'}")
    return found.removeprefix("go")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def built(main: Main, version: str) -> Path:
    """Where the program of these sources and this version of Go lies, built or not."""
    digest = hashlib.sha256(version.encode())
    folder = MODULE / main.folder
    files = {main.module / "go.mod", main.module / "go.sum", *folder.rglob("*.go")}
    for file in sorted(files):
        digest.update(f"\0{file.relative_to(MODULE)}\0".encode() + file.read_bytes())
    return CACHE / f"{main.name}-{digest.hexdigest()[:16]}" / main.name


def programs() -> dict[str, Path]:
    """The programs that are there now, by name; nothing is built."""
    found: dict[str, Path] = {}
    for main in mains():
        asset = from_assets(main)
        if asset is not None:
            found[main.name] = asset
            continue
        try:
            place = built(main, go_version())
        except CannotBuild:
            continue
        if place.exists():
            found[main.name] = place
    return found


def missing(*names: str) -> str:
    """Why programs cannot be had on this machine, "" where they can.

    Without names: those of the control plane.
    """
    wanted = [main for main in mains() if (main.name in names if names else not main.extra)]
    if all(from_assets(main) for main in wanted):
        return ""
    try:
        go_version()
    except CannotBuild as reason:
        return str(reason)
    if any(main.cgo for main in wanted) and not shutil.which("gcc"):
        return "a C compiler (gcc) is not installed"
    return ""


def build(names: Sequence[str] = ()) -> dict[str, Path]:
    """Build what is missing, and say what happens. Raises CannotBuild."""
    wanted = [m for m in mains() if (m.name in names if names else not m.cgo)]
    unknown = sorted(set(names) - {main.name for main in wanted})
    if unknown:
        known = ", ".join(main.name for main in mains())
        raise CannotBuild(f"there is no program {unknown[0]}; there are {known}")
    found = {main.name: asset for main in wanted if (asset := from_assets(main))}
    rest = [main for main in wanted if main.name not in found]
    if not rest:
        return found
    version = go_version()
    if CACHE == TEMPORARY:
        _say(f"there is no cache folder to write to, programs go to {CACHE}")
    with _alone(CACHE):
        for index, main in enumerate(rest, 1):
            place = built(main, version)
            if not place.exists():
                _say(f"{main.name} ({index} of {len(rest)}): building with Go {version}")
                _compile(main, place)
                _forget_older(main)
            found[main.name] = place
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of the cache, so that two builders do not do the same work."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another build is running, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(main: Main, place: Path) -> None:
    place.parent.mkdir(exist_ok=True)
    unfinished = place.with_name(f".{main.name}-{os.getpid()}")
    started = time.monotonic()
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-v"]
    command += ["-ldflags", _linker_flags(), "-o", str(unfinished)]
    command.append("-gcflags=all=-dwarf=false")  # a fifth less time; the linker strips it anyway
    command += ["-tags", main.tags] if main.tags else []
    command.append(main.package or f"./{main.folder}")
    last = _watched(main, command)
    if not unfinished.exists():
        raise CannotBuild(f"{main.name} could not be built: {last}")
    _copy_beside(main, place)
    unfinished.replace(place)
    size = place.stat().st_size >> 20
    _say(f"{main.name}: {size} MB in {time.monotonic() - started:.0f} s")


def _copy_beside(main: Main, place: Path) -> None:
    if not main.beside:
        return
    command = ["go", "list", "-m", "-f", "{{.Dir}}", main.package]
    found = subprocess.run(
        command, cwd=main.module, env=_environment(), capture_output=True, text=True, check=False
    )
    for name in main.beside:
        source, copy = Path(found.stdout.strip(), name), place.parent / name
        shutil.copytree(source, copy, copy_function=shutil.copyfile, dirs_exist_ok=True)
        for folder, _, _ in os.walk(copy):
            Path(folder).chmod(0o755)  # Go's module cache is read-only


def _watched(main: Main, command: list[str]) -> str:
    """Run the build, say every few seconds how far it is, and give its last words."""
    said, tail = time.monotonic(), list[str]()
    with subprocess.Popen(
        command, cwd=main.module, env=_environment(main.cgo), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for done, line in enumerate(process.stderr, 1):
            tail = [*tail[-9:], line.strip()]
            if time.monotonic() - said > REPORT_SECONDS:
                said = time.monotonic()
                _say(f"{main.name}: {done} packages, now {line.strip()[:60]}")
    return "" if process.returncode == 0 else " | ".join(tail)


def _linker_flags() -> str:
    """Strip, and stamp Kubernetes' version, which the sources alone do not know."""
    text = (MODULE / "go.mod").read_text("utf-8")
    version = re.findall(r"(?m)^\s+k8s\.io/kubernetes (v\S+)", text)[0]
    major, minor = version.removeprefix("v").split(".")[:2]
    stamp = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    package = "k8s.io/component-base/version"
    return " ".join(["-s", "-w", *(f"-X {package}.{key}={stamp[key]}" for key in stamp)])


def _environment(cgo: bool = False) -> dict[str, str]:
    """The machine's Go settings, but this Go, this module, and a C compiler only if asked."""
    kept = {key: value for key, value in os.environ.items() if key != "GOFLAGS"}
    compiler = "1" if cgo else "0"
    return {**kept, "CGO_ENABLED": compiler, "GOTOOLCHAIN": "local", "GOWORK": "off"}


def _forget_older(main: Main) -> None:
    """Keep the newest builds of a program only."""
    folders = [each for each in CACHE.glob(f"{main.name}-*") if len(each.name.split("-")[-1]) == 16]
    for folder in sorted(folders, key=lambda each: -each.stat().st_mtime)[KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


def _say(text: str) -> None:
    print(f"controlplane: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Build, and print where each program lies."""
    reason = missing(*arguments)
    try:
        if reason:
            raise CannotBuild(reason)
        found = build(arguments)
    except CannotBuild as problem:
        _say(str(problem))
        return 1
    for name in found:
        print(f"{name} {found[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
