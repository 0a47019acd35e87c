"""Every service behind a company's proxy, whose certificates only SSL_CERT_FILE makes trusted."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitbot.adapters.forges.forge_type import Connection
from gitbot.adapters.forges.gitea.connect import open_gitea
from gitbot.adapters.forges.github.connect import open_github
from gitbot.adapters.forges.gitlab.connect import open_gitlab
from gitbot.adapters.git import GitRepository
from gitbot.adapters.kubernetes import KubernetesCluster
from gitbot.adapters.prometheus import Prometheus
from gitbot.adapters.webhooks import Webhooks
from gitbot.errors import ClusterError, ForgeError, NoticeError, RepositoryError, UsageError
from gitbot.ports.forge import PullState
from gitbot.simulation.http import write_kubeconfig
from gitbot.snapshot import from_objects
from tests.contracts.cluster_server import Reply, ScriptedServer, Seen
from tests.controlplane.certificates import Authority
from tests.doubles.github.scene import REPOSITORY, Scene
from tests.doubles.inspecting_proxy import InspectingProxy
from tests.doubles.problems import NOW, node
from tests.doubles.tiny_cluster import TestClock

GITHUB, GITEA, CLUSTER = "github.company.test", "gitea.company.test", "cluster.company.test"
PROMETHEUS, HOOKS = "prometheus.company.test", "hooks.company.test"
GITLAB = "gitlab.company.test"


def answer(seen: Seen) -> Reply | None:
    """As Gitea, GitLab, Prometheus and the receiver of a webhook answer."""
    if seen.path.startswith(("/api/v1/repos/", "/api/v4/projects/")):
        return Reply(body=[])
    if seen.path == "/api/v1/query":
        sample = {"metric": {"node": "a"}, "value": [NOW, "0.5"]}
        return Reply(body={"status": "success", "data": {"result": [sample]}})
    return Reply(code=204) if seen.path == "/hook" else None


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene.make(tmp_path)
    with made.server:
        yield made


@pytest.fixture
def proxy(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InspectingProxy]:
    """The proxy, which the environment names; nothing says yet whom to trust."""
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(answer) as other:
        address = other.url.removeprefix("http://")
        servers = dict.fromkeys((GITEA, GITLAB, CLUSTER, PROMETHEUS, HOOKS), address)
        servers[GITHUB] = scene.server.url.removeprefix("http://")
        with InspectingProxy(tmp_path, servers) as made:
            monkeypatch.setenv("HTTPS_PROXY", made.url)
            yield made


@pytest.fixture
def trusted(proxy: InspectingProxy, monkeypatch: pytest.MonkeyPatch) -> InspectingProxy:
    """The proxy, trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy.trusted))
    return proxy


@pytest.fixture
def stranger(tmp_path: Path, proxy: InspectingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """An authority that signed nothing here is trusted."""
    other = tmp_path / "other-ca.pem"
    other.write_text(Authority().certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(other))


def github(scene: Scene, clock: TestClock) -> Connection:
    environment = {
        "GITHUB_API_URL": f"https://{GITHUB}/api/v3",
        "GITBOT_GITHUB_TOKEN": scene.tokens["bob"],
    }
    return open_github(
        named=REPOSITORY, origin="", base_branch="main", clock=clock, environment=environment
    ).connection


def gitea(clock: TestClock) -> Connection:
    environment = {"GITBOT_GITEA_TOKEN": "secret"}
    return open_gitea(
        address=f"https://{GITEA}",
        named=REPOSITORY,
        origin="",
        base_branch="main",
        clock=clock,
        environment=environment,
    )


def gitlab(clock: TestClock) -> Connection:
    return open_gitlab(
        address=f"https://{GITLAB}",
        named="acme/site/placement",
        origin="",
        base_branch="main",
        clock=clock,
        environment={"GITBOT_GITLAB_TOKEN": "secret"},
    )


def cluster(folder: Path) -> KubernetesCluster:
    path = write_kubeconfig(folder / "kubeconfig", server=f"https://{CLUSTER}", context="prod")
    return KubernetesCluster(kubeconfig=str(path))


def pulls(connection: Connection, clock: TestClock) -> list[str]:
    forge = connection.forge(None, "", clock)
    return [pull.title for pull in forge.list_pulls(state=PullState.OPEN)]


def test_github(scene: Scene, trusted: InspectingProxy) -> None:
    scene.pull()
    assert pulls(github(scene, TestClock()), TestClock()) == ["A title"]
    assert set(trusted.asked) == {GITHUB}


def test_git(scene: Scene, trusted: InspectingProxy, tmp_path: Path) -> None:
    opened = github(scene, TestClock())
    mirror = GitRepository.clone(opened.remote, tmp_path / "mirror", access=opened.access)
    head = mirror.resolve("main")
    mirror.write_commit(branch="gitbot/x", expected=None, files={"a": b"b"}, message="m", time=NOW)
    assert head is not None
    assert scene.github.repository(REPOSITORY).git.resolve("gitbot/x") is not None
    assert set(trusted.asked) == {GITHUB}


@pytest.mark.parametrize(("kind", "host"), [(gitea, GITEA), (gitlab, GITLAB)])
def test_a_server_of_ones_own(
    trusted: InspectingProxy, kind: Callable[[TestClock], Connection], host: str
) -> None:
    assert pulls(kind(TestClock()), TestClock()) == []
    assert set(trusted.asked) == {host}


def test_the_cluster(trusted: InspectingProxy, tmp_path: Path) -> None:
    assert cluster(tmp_path).list_migrations() == ()
    assert set(trusted.asked) == {CLUSTER}


def test_the_proxy_of_a_kubeconfig_wins(
    trusted: InspectingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    path = write_kubeconfig(tmp_path / "config", server=f"https://{CLUSTER}", context="prod")
    known = json.loads(path.read_text())
    known["clusters"][0]["cluster"]["proxy-url"] = trusted.url
    path.write_text(json.dumps(known))
    assert KubernetesCluster(kubeconfig=str(path)).list_migrations() == ()
    assert set(trusted.asked) == {CLUSTER}


def test_prometheus(trusted: InspectingProxy) -> None:
    known = from_objects("prod", [node("a", cpu="4", memory="8Gi")], NOW)
    load = Prometheus(f"https://{PROMETHEUS}").read(known)
    assert {value.node for value in load.values} == {"a"}
    assert set(trusted.asked) == {PROMETHEUS}


def test_notices(trusted: InspectingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITBOT_NOTIFY_ON_CALL_URL", f"https://{HOOKS}/hook")
    Webhooks(TestClock()).send("on-call", "1", b"{}")
    assert trusted.asked == [HOOKS]


def test_a_file_that_is_not_there_is_named_at_once(
    scene: Scene, proxy: InspectingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = github(scene, TestClock())
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(UsageError, match="SSL_CERT_FILE is /nowhere/ca"):
        github(scene, TestClock())
    with pytest.raises(UsageError, match="no such file"):
        GitRepository.clone(opened.remote, tmp_path / "m", access=opened.access)
    assert proxy.asked == []


@pytest.mark.usefixtures("stranger")
def test_a_certificate_that_nobody_vouches_for_is_named_at_once(
    scene: Scene, proxy: InspectingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITBOT_NOTIFY_ON_CALL_URL", f"https://{HOOKS}/hook")
    opened, clock = github(scene, TestClock()), TestClock()
    began = clock.now()
    for ask, error in (
        (lambda: pulls(github(scene, clock), clock), ForgeError),
        (lambda: pulls(gitea(clock), clock), ForgeError),
        (lambda: pulls(gitlab(clock), clock), ForgeError),
        (
            lambda: GitRepository.clone(opened.remote, tmp_path / "m", access=opened.access),
            RepositoryError,
        ),
        (lambda: cluster(tmp_path).list_migrations(), ClusterError),
    ):
        with pytest.raises(error) as raised:
            ask()
        assert "certificate" in raised.value.message
        assert "SSL_CERT_FILE" in raised.value.hint
    assert clock.now() == began, "no repetition mends it"
    with pytest.raises(NoticeError, match="certificate"):
        Webhooks(clock).send("on-call", "1", b"{}")
    known = from_objects("prod", [node("a", cpu="4", memory="8Gi")], NOW)
    (missing,) = Prometheus(f"https://{PROMETHEUS}").read(known).missing
    assert "certificate" in missing
