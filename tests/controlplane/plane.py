"""A real Kubernetes control plane on loopback: etcd, API server, scheduler, controller manager.

    with control_plane(programs(), folder=tmp_path) as plane:
        connection = plane.connection()                          # as an administrator
        file = plane.kubeconfig("alice", groups=["operators"])   # of a user, under RBAC
        for entry in plane.audit(user="alice"): ...

Everything lies in `folder` and ends with the process that started it. RBAC is on, admission is the
default one, the audit log has one line for each request (level Metadata).
"""

import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3

from tests.controlplane import certificates
from tests.controlplane.component import Component, free_ports
from tests.controlplane.kubevirt.connection import Connection

CONFIG = Path(__file__).with_name("config")
START_SECONDS = 60.0
ATTEMPTS = 3
POLL_SECONDS = 0.05
ADMIN = "admin"
MASTERS = "system:masters"
SCHEDULER = "system:kube-scheduler"
CONTROLLERS = "system:kube-controller-manager"
CONTEXT = "plane"


class ControlPlane:
    """`start` and `stop` it, or have `control_plane` do so; `folder` must be empty or not there."""

    def __init__(
        self, programs: Mapping[str, Path], *, folder: Path, context: str = CONTEXT
    ) -> None:
        self.folder = folder
        self.context = context
        self._programs = programs
        self._authority = certificates.Authority()
        client, peer, self._port, scheduler, controllers = free_ports(5)
        self.etcd_url = f"http://127.0.0.1:{client}"
        self.url = f"https://127.0.0.1:{self._port}"
        self.audit_log = folder / "audit.log"
        self.etcd = self._component("etcd", self._etcd(peer))
        self.apiserver = self._component("kube-apiserver", self._apiserver())
        self.scheduler = self._component("kube-scheduler", self._scheduler(scheduler))
        self.controllers = self._component(
            "kube-controller-manager", self._controllers(controllers)
        )

    # What tests use

    def kubeconfig(self, user: str = ADMIN, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate of that user; RBAC decides what it may do.

        The user `admin` may do everything (group system:masters).
        """
        allowed = [MASTERS] if user == ADMIN else list(groups)
        pair = self._authority.client(user, allowed)
        name = "".join(each if each.isalnum() or each in "-." else "-" for each in user)
        files = {"crt": pair.certificate, "key": pair.key}
        paths = {kind: self._write(f"users/{name}.{kind}", text) for kind, text in files.items()}
        config = _kubeconfig(
            context=self.context,
            cluster={"server": self.url, "certificate-authority": str(self._certificate)},
            user={"client-certificate": str(paths["crt"]), "client-key": str(paths["key"])},
        )
        return self._write(f"users/{name}.kubeconfig", json.dumps(config, indent=2) + "\n")

    def connection(self, user: str = ADMIN, groups: Sequence[str] = ()) -> Connection:
        """Requests as that user."""
        return Connection(str(self.kubeconfig(user, groups)))

    def audit(self, *, user: str = "") -> Iterator[dict[str, Any]]:
        """The events of the audit log so far, of one user or of all."""
        if not self.audit_log.exists():
            return
        with self.audit_log.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # being written
                event: dict[str, Any] = json.loads(line)
                if not user or event["user"]["username"] == user:
                    yield event

    def forget(self) -> None:
        """Make all revisions but the last too old: 410 for their watches and `continue` tokens.

        The API server's own memory of the past ends only with the process, so it starts again;
        watchers have to list again.
        """
        self.apiserver.stop()
        found = urllib3.request("POST", f"{self.etcd_url}/v3/kv/range", body=b'{"key":"AA=="}')
        revision = found.json()["header"]["revision"]
        body = json.dumps({"revision": revision, "physical": True}).encode()
        urllib3.request("POST", f"{self.etcd_url}/v3/kv/compaction", body=body)
        self.apiserver.start()
        connection = self.connection()
        ready = (self.etcd, self.apiserver)
        self._wait(lambda: _answers(connection, "/readyz"), "the API server", ready)

    def save(self) -> None:
        """Keep what etcd has; the API server starts again, and watchers have to list again."""
        self._with_etcd_at_rest(lambda: shutil.copytree(self._data, self._saved))

    def restore(self) -> None:
        """Put etcd back to what was saved: the resource version goes back with it."""

        def put_back() -> None:
            shutil.rmtree(self._data)
            shutil.copytree(self._saved, self._data)

        self._with_etcd_at_rest(put_back)

    def _with_etcd_at_rest(self, action: Callable[[], object]) -> None:
        for each in (self.controllers, self.scheduler, self.apiserver, self.etcd):
            each.stop()
        action()
        self._start_all(self.connection())

    # Starting and stopping

    def start(self) -> None:
        """Start everything. Raises RuntimeError with the log of what did not come up."""
        self._write_files()
        self._start_all(self.connection())

    def _start_all(self, connection: Connection) -> None:
        self.etcd.start()
        self.apiserver.start()
        first = (self.etcd, self.apiserver)
        self._wait(lambda: _answers(connection, "/readyz"), "the API server", first)
        self.scheduler.start()
        self.controllers.start()
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        running = (self.etcd, self.apiserver, self.scheduler, self.controllers)
        self._wait(lambda: _answers(connection, account), "the default account", running)

    def stop(self) -> None:
        """End everything, in the order in which nobody misses anybody."""
        for each in (self.controllers, self.scheduler, self.apiserver, self.etcd):
            each.stop()

    def _wait(self, ready: Callable[[], bool], what: str, needed: Iterable[Component]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            ended = [each for each in needed if not each.running]
            if ended or time.monotonic() > deadline:
                found = "\n".join(f"--- {each.name}\n{each.tail()}" for each in ended or needed)
                raise RuntimeError(f"{what} did not come up; its log ends with\n{found}")
            time.sleep(POLL_SECONDS)

    # Commands and files

    def _component(self, name: str, arguments: Mapping[str, object]) -> Component:
        flags = [f"--{key}={value}" for key, value in arguments.items()]
        command = [str(self._programs[name]), *flags]
        return Component(name, command, log=self.folder / f"{name}.log")

    def _etcd(self, peer: int) -> dict[str, object]:
        peers = f"http://127.0.0.1:{peer}"
        return {
            "name": "one",
            "data-dir": self._data,
            "listen-client-urls": self.etcd_url,
            "advertise-client-urls": self.etcd_url,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"one={peers}",
            "unsafe-no-fsync": "true",  # nothing of it must survive
            "log-level": "warn",
        }

    def _apiserver(self) -> dict[str, object]:
        return {
            "etcd-servers": self.etcd_url,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self._port,
            "tls-cert-file": self._file("server.crt"),
            "tls-private-key-file": self._file("server.key"),
            "client-ca-file": self._certificate,
            "authorization-mode": "RBAC",
            "allow-privileged": "true",
            "endpoint-reconciler-type": "none",
            "service-cluster-ip-range": "10.0.0.0/24",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": self._file("accounts.pub"),
            "service-account-signing-key-file": self._file("accounts.key"),
            "audit-policy-file": CONFIG / "audit-policy.yaml",
            "audit-log-path": self.audit_log,
        }

    def _scheduler(self, port: int) -> dict[str, object]:
        return {
            "config": self._file("scheduler.yaml"),
            "bind-address": "127.0.0.1",
            "secure-port": port,
        }

    def _controllers(self, port: int) -> dict[str, object]:
        return {
            "kubeconfig": self._file("users/system-kube-controller-manager.kubeconfig"),
            "use-service-account-credentials": "true",
            "service-account-private-key-file": self._file("accounts.key"),
            "root-ca-file": self._certificate,
            "leader-elect": "false",
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "kube-api-qps": 500,
            "kube-api-burst": 1000,
        }

    @property
    def _data(self) -> Path:
        return self._file("etcd")

    @property
    def _saved(self) -> Path:
        return self._file("etcd-saved")

    @property
    def _certificate(self) -> Path:
        return self._file("ca.crt")

    def _file(self, name: str) -> Path:
        return self.folder / name

    def _write(self, name: str, text: str) -> Path:
        path = self._file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
        return path

    def _write_files(self) -> None:
        server, accounts = self._authority.server(), certificates.signing_key()
        self._write("ca.crt", self._authority.certificate)
        self._write("server.crt", server.certificate)
        self._write("server.key", server.key)
        self._write("accounts.key", certificates.key_text(accounts))
        self._write("accounts.pub", certificates.public_text(accounts))
        self.kubeconfig(CONTROLLERS)
        config = (CONFIG / "scheduler.yaml").read_text("utf-8")
        kubeconfig = str(self.kubeconfig(SCHEDULER))
        self._write("scheduler.yaml", config.replace("KUBECONFIG", json.dumps(kubeconfig)))


@contextmanager
def control_plane(
    programs: Mapping[str, Path], *, folder: Path, context: str = CONTEXT
) -> Iterator[ControlPlane]:
    """A running control plane; started again if another program took one of its free ports."""
    for attempt in range(1, ATTEMPTS + 1):
        plane = ControlPlane(programs, folder=folder / str(attempt), context=context)
        try:
            plane.start()
            break
        except RuntimeError as problem:
            plane.stop()
            if attempt == ATTEMPTS or "address already in use" not in str(problem):
                raise
    try:
        yield plane
    finally:
        plane.stop()


def _answers(connection: Connection, path: str) -> bool:
    try:
        connection.request("GET", path)
    except Exception:  # noqa: BLE001 - it is not up yet, in whatever way
        return False
    return True


def _kubeconfig(
    *, context: str, cluster: Mapping[str, str], user: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": dict(cluster)}],
        "users": [{"name": context, "user": dict(user)}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "current-context": context,
    }
