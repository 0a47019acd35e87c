"""virt-api's webhooks that look at other objects, on loopback TLS; room kubevirt decides.

They ask the API server itself, not a cache: two creates at the same moment may both pass, as with
KubeVirt.
"""

import base64
import json
import ssl
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, controller_of
from gitbot.kubevirt import names
from gitbot.kubevirt.admission import Admitted, Refused, WebhookAnswer, admit_migration
from gitbot.kubevirt.eviction import admit_eviction
from gitbot.simulation.kubevirt.instance_admission import admit_instance_update
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.status_errors import ApiError
from tests.controlplane.certificates import Authority
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.policies import ACCOUNTS, FOREIGN
from tests.doubles.listener import Listener, RequestHandler
from tests.virt_api.admission import admit_instance

APISERVER = ACCOUNTS[0]
_DENIED = " denied the request: "
_REGISTRATION = "admissionregistration.k8s.io/v1"


class Webhook:
    """The server. A context manager; `configurations` tell the API server of it."""

    def __init__(self, connection: Connection) -> None:
        self._judge = _Judge(connection.acting_as(APISERVER))
        self._authority = Authority()
        self._server = _Server(_Handler, "virt-api")
        self._server.answer = self._judge.review
        self._server.socket = _tls(self._authority).wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://{self._server.address}"

    def configurations(self) -> tuple[dict[str, Any], ...]:
        """The two webhook configurations."""
        instances = _rule("kubevirt.io", "v1", "virtualmachineinstances")
        migrations = _rule("kubevirt.io", "v1", "virtualmachineinstancemigrations", "CREATE")
        eviction = _rule("", "*", "pods/eviction", "CREATE")
        launchers = "request.name.startsWith('virt-launcher') || request.name.startsWith('hp-vol')"
        return (
            self._configuration(
                "Mutating",
                {
                    **self._hook("virtualmachineinstances-mutator.kubevirt.io", instances),
                    "matchConditions": [
                        {
                            "name": "new-or-foreign",
                            "expression": f"request.operation == 'CREATE' || {FOREIGN}",
                        }
                    ],
                },
            ),
            self._configuration(
                "Validating",
                self._hook("migration-create-validator.kubevirt.io", migrations),
                {
                    **self._hook("virt-launcher-eviction-interceptor.kubevirt.io", eviction),
                    "matchConditions": [{"name": "launchers", "expression": launchers}],
                    "sideEffects": "NoneOnDryRun",
                },
            ),
        )

    def start(self) -> None:
        """Serve in a thread."""
        self._server.start()

    def stop(self) -> None:
        """End it."""
        self._server.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _hook(self, name: str, rule: dict[str, Any]) -> dict[str, Any]:
        bundle = base64.b64encode(self._authority.certificate.encode()).decode()
        return {
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": f"{self.url}/{name}", "caBundle": bundle},
            "failurePolicy": "Fail",
            "rules": [rule],
            "sideEffects": "None",
            "timeoutSeconds": 10,
        }

    @staticmethod
    def _configuration(family: str, *hooks: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": _REGISTRATION,
            "kind": f"{family}WebhookConfiguration",
            "metadata": {"name": "virt-api"},
            "webhooks": list(hooks),
        }


def _rule(group: str, version: str, resource: str, *operations: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations) or ["CREATE", "UPDATE"],
        "resources": [resource],
    }


def _tls(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.server()
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder, "crt"), Path(folder, "key")
        certificate.write_text(pair.certificate)
        key.touch(mode=0o600)
        key.write_text(pair.key)
        context.load_cert_chain(certificate, key)
    return context


class _Judge:
    """Reads what a verdict needs, asks room kubevirt, and answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def review(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The response to an AdmissionRequest."""
        plural = request["resource"]["resource"]
        if plural == "pods":
            return self._eviction(request)
        if plural == "virtualmachineinstancemigrations":
            return _answer(self._migration(request))
        return self._instance(request)

    def _migration(self, request: Mapping[str, Any]) -> WebhookAnswer:
        migration, namespace = request["object"], request["namespace"]
        name = str(at(migration, "spec", "vmiName", default=""))
        selector = {"labelSelector": f"{names.VMI_NAME}={name}"}
        path = path_of(BY_KIND["VirtualMachineInstanceMigration"], namespace)
        return admit_migration(
            migration,
            user=request["userInfo"]["username"],
            vmi=self._find("VirtualMachineInstance", namespace, name),
            migrations=self._connection.list(path, selector)[0],
            kubevirt=self._kubevirt(),
        )

    def _instance(self, request: Mapping[str, Any]) -> dict[str, Any]:
        new, user = request["object"], request["userInfo"]["username"]
        if request["operation"] == "CREATE":
            verdict = admit_instance(new, user=user, kubevirt=self._kubevirt())
        else:
            old = request["oldObject"]
            verdict = admit_instance_update(new, old, user=user, kubevirt=self._kubevirt())
            if isinstance(verdict, Refused):
                return {"allowed": True}  # a policy of the API server says it
        patched = _patched(new, verdict.object) if isinstance(verdict, Admitted) else {}
        return {**_answer(verdict), **patched}

    def _eviction(self, request: Mapping[str, Any]) -> dict[str, Any]:
        namespace, eviction = request["namespace"], request["object"]
        asked = (eviction.get("deleteOptions") or {}).get("dryRun")
        dry_run = bool(request.get("dryRun") or asked)  # the API server tells only the query's
        pod = self._find("Pod", namespace, request["name"])
        if pod is None:
            return {"allowed": True}
        owner = controller_of(pod)
        parent = None
        if owner is not None and owner["kind"] == "Pod":
            parent = self._find("Pod", namespace, owner["name"])
        domain = annotations_of(pod if parent is None else parent).get(names.DOMAIN, "")
        verdict = admit_eviction(
            pod,
            vmi=self._find("VirtualMachineInstance", namespace, domain),
            kubevirt=self._kubevirt(),
            dry_run=dry_run,
            annotations=annotations_of(eviction),
            owner=parent,
        )
        for effect in verdict.effects:
            if not dry_run:
                self._write(effect)
        return _answer(verdict)

    def _write(self, obj: KubernetesObject) -> None:
        path = path_of(BY_KIND[obj["kind"]], obj["metadata"]["namespace"], obj["metadata"]["name"])
        self._connection.request("PUT", path, obj)

    def _find(self, kind: str, namespace: str, name: str) -> KubernetesObject | None:
        if not name:
            return None
        try:
            path = path_of(BY_KIND[kind], namespace, quote(name, safe=""))
            return self._connection.request("GET", path)
        except ApiError as refusal:
            if refusal.code == 404:
                return None
            raise

    def _kubevirt(self) -> KubernetesObject:
        cached = {"resourceVersion": "0"}  # as from an informer: a fresh list waits for the cache
        found, _ = self._connection.list(path_of(BY_KIND["KubeVirt"]), cached)
        return found[0] if found else {"metadata": {"namespace": "kubevirt"}}


def _answer(verdict: WebhookAnswer) -> dict[str, Any]:
    if isinstance(verdict, Admitted):
        return {"allowed": True, "warnings": list(verdict.warnings)}
    text = verdict.message.partition(_DENIED)[2] or verdict.message
    causes = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field}
        for cause in verdict.causes
    ]
    status: dict[str, Any] = {"code": verdict.code, "message": text}
    if verdict.reason:
        status["reason"] = verdict.reason
    if causes:
        status["details"] = {"causes": causes}
    return {"allowed": False, "status": status}


def _patched(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON patch of whole fields: spec, status, and the parts of the metadata."""
    operations: list[dict[str, Any]] = []
    for parent, before, after in (
        ("", old, {key: value for key, value in new.items() if key != "metadata"}),
        ("/metadata", old["metadata"], new["metadata"]),
    ):
        operations += [
            {"op": "add", "path": f"{parent}/{key}", "value": value}
            for key, value in sorted(after.items())
            if before.get(key) != value
        ]
        gone = set(before) - set(after) - {"metadata"}
        operations += [{"op": "remove", "path": f"{parent}/{key}"} for key in sorted(gone)]
    if not operations:
        return {}
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"patchType": "JSONPatch", "patch": patch}


class _Server(Listener):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    answer: Callable[[Mapping[str, Any]], dict[str, Any]]


class _Handler(RequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def serve(self) -> None:
        """Answer an AdmissionReview."""
        review = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        request = review["request"]
        response = {"uid": request["uid"], **self.server.answer(request)}
        body = json.dumps(
            {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
