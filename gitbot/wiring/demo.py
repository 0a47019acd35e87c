"""What the demo plays on: a simulated cluster behind its API, and a bare repository as forge."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git import Git, GitRepository
from gitbot.adapters.kubernetes import KubernetesCluster
from gitbot.adapters.working_tree import locked_folder, temporary_folder
from gitbot.errors import UsageError
from gitbot.kubernetes.objects import at, labels_of
from gitbot.ports.forge import PullRequest
from gitbot.simulation import (
    ApiServer,
    Runner,
    SimulatedCluster,
    SimulatedPort,
    customapp,
    namespace,
    write_kubeconfig,
)
from gitbot.wiring.workspace import Workspace, open_workspace

CLUSTER = "iberia"
PERSON = "alice"
ZONE = "topology.kubernetes.io/zone"
# Virtual seconds until the scene has settled. The cluster starts so much earlier, so that its clock
# is then ours: gitbot acts on no cluster whose clock is more than 30 seconds away.
SETTLING = 25
UNFINISHED = "unfinished-demo"  # lies in a demo's folder until its end
NEW = "give the name of a new folder"


class LockedClock:
    """The simulated cluster's clock; time passes under the lock of its HTTP face."""

    def __init__(self, port: SimulatedPort, face: ApiServer) -> None:
        self._port = port
        self._face = face

    def now(self) -> int:
        with self._face.lock:
            return self._port.now()

    def sleep(self, seconds: int) -> None:
        with self._face.lock:
            self._port.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that the story uses. `workspace` opens what gitbot itself sees."""

    folder: Path
    bare: Path
    kubeconfig: Path
    cluster: SimulatedCluster
    face: ApiServer
    clock: LockedClock
    repository: GitRepository
    forge: LocalForge

    @contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """The workspace of one run of gitbot, as `gitbot apply` would open it in a clone."""
        with open_workspace(
            self.folder / "clone",
            kubeconfig=str(self.kubeconfig),
            clock=self.clock,
            clusters={CLUSTER: KubernetesCluster(kubeconfig=str(self.kubeconfig), name=CLUSTER)},
        ) as workspace:
            yield workspace

    def commit(self, branch: str, files: Mapping[str, str], message: str) -> str:
        """Alice commits files on a branch (a new one starts at main) and pushes."""
        self.repository.fetch()
        expected = self.repository.resolve(branch)
        start = expected or self.repository.resolve("main")
        content = {path: text.encode() for path, text in files.items()}
        if expected is None and start is not None:
            content = {**self.repository.read_tree(start), **content}
        return self.repository.write_commit(
            branch=branch,
            expected=expected,
            files=dict(content),
            message=message,
            time=self.clock.now(),
            parents=(start,) if start else (),
        )

    def runner(self, *, factor: int, monotonic: Callable[[], float]) -> Runner:
        """Lets the cluster's time pass, `factor` times as fast as ours."""
        return Runner(self.face, factor=factor, monotonic=monotonic)

    def pull(self, number: int) -> PullRequest:
        return self.forge.get_pull(number)

    def instances(self, domain: str) -> dict[str, str]:
        return {
            vmi["metadata"]["name"]: at(vmi, "status", "nodeName", default="")
            for vmi in self.cluster.list("VirtualMachineInstance", "customapp")
            if labels_of(vmi).get("kubevirt.io/domain") == domain
        }

    def picture(self) -> str:
        places: dict[str, list[str]] = {}
        for vmi in self.cluster.list("VirtualMachineInstance", "customapp"):
            name = vmi["metadata"]["name"]
            places.setdefault(at(vmi, "status", "nodeName", default="-"), []).append(name)
        rows = []
        for node in self.cluster.list("Node"):
            labels = labels_of(node)
            if ZONE not in labels:
                continue
            name = node["metadata"]["name"]
            speed = "performance=high" if labels.get("performance") == "high" else ""
            vms = ", ".join(sorted(places.get(name, ()))) or "-"
            rows.append((labels[ZONE], name, speed, vms))
        return "\n".join(
            f"   {zone:4} {name:12} {speed:17} {vms}" for zone, name, speed, vms in sorted(rows)
        )


@contextmanager
def demo_folder(folder: Path | None) -> Iterator[Path]:
    """Where a demo plays: a temporary folder, a new one, or that of a demo that was killed."""
    if folder is None:
        with temporary_folder("demo") as place:
            yield place.resolve()
        return
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked_folder(folder))
            _clear(folder)
        except FileExistsError as error:
            raise UsageError(f"{folder} exists", hint=NEW) from error
        except BlockingIOError as error:
            raise UsageError(f"another demo runs in {folder}", hint=NEW) from error
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror}") from error
        yield folder.resolve()
        (folder / UNFINISHED).unlink(missing_ok=True)


def _clear(folder: Path) -> None:
    """Remove what a demo that was killed has made; its cluster is gone, so nothing can go on."""
    marker, known = folder / UNFINISHED, folder.stat()
    made = f"gitbot made this demo: {known.st_dev}:{known.st_ino}\n"  # a copy has another inode
    if any(folder.iterdir()) and not (marker.is_file() and marker.read_bytes() == made.encode()):
        raise UsageError(f"{folder} exists", hint=NEW)
    marker.write_text(made, encoding="ascii")
    for name in ("clone", "alice.git", "placement.git"):
        shutil.rmtree(folder / name, ignore_errors=True)


@contextmanager
def stage(folder: Path, files: Mapping[str, str], *, say: Callable[[str], None]) -> Iterator[Stage]:
    """Start cluster and forge in a folder, with the first files; everything stops at the end."""
    start = SystemClock().now() - SETTLING
    say("starting a simulated KubeVirt cluster (7 nodes, 3 zones) and a forge (a bare repository)")
    cluster = customapp(step=2, jumpbox=True, start_time=start)
    cluster.cordon("kni-worker2", unschedulable=False)
    cluster.apply(
        [namespace("gitbot")]
    )  # as deploy/rbac/ makes it: flag and anchor have their place
    cluster.settle()
    with ApiServer(cluster) as face:
        kubeconfig = write_kubeconfig(folder / "kubeconfig", server=face.url, context=CLUSTER)
        clock = LockedClock(SimulatedPort(cluster), face)
        bare = folder / "placement.git"
        forge = LocalForge.create(bare, clock=clock)
        repository = GitRepository.clone(
            str(bare), folder / "alice.git", name=PERSON, email=f"{PERSON}@example.org"
        )
        made = Stage(
            folder=folder,
            bare=bare,
            kubeconfig=kubeconfig,
            cluster=cluster,
            face=face,
            clock=clock,
            repository=repository,
            forge=forge,
        )
        made.commit("main", files, "Start")
        _clone(folder / "clone", bare)
        yield made


def _clone(folder: Path, bare: Path) -> None:
    """A working folder as a person has it: the configuration, and a remote called origin."""
    folder.mkdir()
    git = Git(folder / ".git", folder=folder)
    git.run(["init", "--quiet", "--initial-branch=main", "--template="])
    git.run(["remote", "add", "origin", str(bare)])
    git.run(["config", "user.name", "you"])  # of this clone alone: who merges there has a name
    git.run(["config", "user.email", "you@example.org"])
    git.run(["fetch", "--quiet", "origin"])
    git.run(["checkout", "--quiet", "-b", "main", "origin/main"])
