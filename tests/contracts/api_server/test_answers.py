"""One request, one answer: what kube-apiserver 1.36 says, word for word where people read it."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.contracts.api_server.faces import (
    APPLY,
    JSON_PATCH,
    MERGE,
    ApiFace,
    Object,
    config_map,
    pod,
)

MAPS = "/api/v1/namespaces/{ns}/configmaps"
PODS = "/api/v1/namespaces/{ns}/pods"
HAVE = f"{MAPS}/have"
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
REJECTED = "the server rejected our request due to an error in our request"
NO_METHOD = "the server does not allow this method on the requested resource"
NOT_THERE = "the server could not find the requested resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A request, and what must be answered; `says` stands in the message, "" = not looked at."""

    id: str
    method: str
    path: str
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    code: int
    reason: str = ""
    says: str = ""


def _map(name: str = "new", **metadata: Any) -> Object:
    return config_map(name, **metadata)


def _row(method: str, path: str, id: str, expected: tuple[Any, ...], **rest: Any) -> Row:  # noqa: A002
    code, reason, says = (*expected, "", "")[:3]
    return Row(method=method, path=path, id=id, code=code, reason=reason, says=says, **rest)


def _create(id: str, body: Any, *expected: Any, **query: str) -> Row:  # noqa: A002
    return _row("POST", MAPS, id, expected, body=body, query=query)


def _put(id: str, name: str, body: Any, *expected: Any) -> Row:  # noqa: A002
    return _row("PUT", f"{MAPS}/{name}", id, expected, body=body)


def _patch(
    id: str,  # noqa: A002
    body: Any,
    *expected: Any,
    kind: str = MERGE,
    path: str = HAVE,
    **query: str,
) -> Row:
    return _row("PATCH", path, id, expected, body=body, kind=kind, query=query)


def _get(id: str, path: str, *expected: Any, **query: str) -> Row:  # noqa: A002
    return _row("GET", path, id, expected, query=query)


def _delete(id: str, path: str, body: Any, *expected: Any) -> Row:  # noqa: A002
    return _row("DELETE", path, id, expected, body=body)


INVALID = ("Invalid", 'ConfigMap "new" is invalid: metadata.')
ROWS = (
    _create("create", _map(), 201),
    _create("already-there", _map("have"), 409, "AlreadyExists", 'configmaps "have" already'),
    _create("another-namespace", _map(namespace="other"), 400, "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the "
            "request"),
    _create("bad-name", _map("Bad_Name"), 422, "Invalid", SUBDOMAIN),
    _create("no-name", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}, 422, "Invalid",
            "metadata.name: Required value: name or generateName is required"),
    _create("another-kind", {**_map(), "kind": "Secret"}, 400, "BadRequest",
            'Secret in version "v1" cannot be handled as a ConfigMap'),
    _create("another-version", {**_map(), "apiVersion": "v2"}, 400, "BadRequest",
            'no kind "ConfigMap" is registered for version "v2"'),
    _create("with-a-version", _map(resourceVersion="1"), 500, "",
            "resourceVersion should not be set on objects to be created"),
    _create("without-body", None, 400, "BadRequest",
            "the object provided is unrecognized (must be of type ConfigMap)"),
    _create("a-list", [1], 400, "BadRequest",
            "the object provided is unrecognized (must be of type ConfigMap)"),
    _create("dry-run", _map(), 201, dryRun="All"),
    _create("dry-run-of-another", _map(), 422, "Invalid",
            'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["some"]: '
            'supported values: "All"', dryRun="some"),
    _create("strict", {**_map(), "datta": {}}, 400, "BadRequest",
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
            'unknown field "datta"', fieldValidation="Strict"),
    _create("ignore", {**_map(), "datta": {}}, 201, fieldValidation="Ignore"),
    _create("validation-of-another", _map(), 422, "Invalid",
            'fieldValidation: Unsupported value: "Hard": supported values: "", "Ignore", "Strict", '
            '"Warn"', fieldValidation="Hard"),
    _create("wrong-type", {**_map(), "data": {"key": 1}}, 400, "BadRequest",
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal '
            "number into Go struct field ConfigMap.data of type string"),
    _create("label-key", _map(labels={"a b": "x"}), 422, *INVALID),
    _create("label-key-says", _map(labels={"a b": "x"}), 422, "Invalid", LABEL_KEY),
    _create("label-value", _map(labels={"a": "x y"}), 422, *INVALID),
    _create("label-value-says", _map(labels={"a": "x y"}), 422, "Invalid", LABEL_VALUE),
    _create("finalizer", _map(finalizers=["x"]), 422, "Invalid",
            'metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name '
            "nor is it fully qualified"),
    Row(id="absent-namespace", method="POST", path="/api/v1/namespaces/absent/configmaps",
        body=_map(), code=404, reason="NotFound", says='namespaces "absent" not found'),
    Row(id="bad-namespace", method="POST", path="/api/v1/namespaces",
        body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "A_b"}},
        code=422, reason="Invalid", says=LABEL),
    _put("stale", "have", _map("have", resourceVersion="1"), 409, "Conflict", STALE),
    _put("without-version", "have", _map("have"), 200),
    _put("another-name", "have", _map("other"), 400, "BadRequest",
         "the name of the object (other) does not match the name on the URL (have)"),
    _put("absent", "absent", _map("absent"), 404, "NotFound", 'configmaps "absent" not found'),
    _put("another-uid", "have", _map("have", uid="nope"), 409, "Conflict",
         "Precondition failed: UID in precondition: nope, UID in object meta: "),
    _patch("json-test", [{"op": "test", "path": "/data/key", "value": "x"}], 422, "Invalid",
           REJECTED, kind=JSON_PATCH),
    _patch("json-absent", [{"op": "remove", "path": "/data/none"}], 422, "Invalid", REJECTED,
           kind=JSON_PATCH),
    _patch("json-operation", [{"op": "frob", "path": "/data"}], 422, "Invalid", REJECTED,
           kind=JSON_PATCH),
    _patch("json-no-list", {"op": "add"}, 400, "BadRequest", "error decoding patch",
           kind=JSON_PATCH),
    _patch("stale-patch", {"metadata": {"resourceVersion": "1"}, "data": {"x": "y"}}, 409,
           "Conflict", STALE),
    _patch("patched-uid", {"metadata": {"uid": "nope"}, "data": {"x": "y"}}, 422, "Invalid",
           'ConfigMap "have" is invalid: metadata.uid: Invalid value: "nope": field is immutable'),
    _patch("renamed", {"metadata": {"name": "other"}}, 400, "BadRequest",
           "the name of the object (other) does not match the name on the URL (have)"),
    _patch("patched-label", {"metadata": {"labels": {"a": "x y"}}}, 422, "Invalid", LABEL_VALUE),
    _patch("strict-patch", {"datta": {}}, 422, "Invalid",
           'strict decoding error: unknown field "datta"', fieldValidation="Strict"),
    _patch("absent-patch", {"data": {}}, 404, "NotFound", 'configmaps "absent" not found',
           path=f"{MAPS}/absent"),
    _patch("patch-type", {"data": {}}, 415, "UnsupportedMediaType", "", kind="application/json"),
    _patch("apply-without-name", {"apiVersion": "v1", "kind": "ConfigMap"}, 400, "BadRequest",
           "(new based on URL) was undeterminable: name must be provided", kind=APPLY,
           path=f"{MAPS}/new", fieldManager="me"),
    _patch("apply-without-manager", _map("have"), 422, "Invalid",
           "fieldManager: Required value: is required for apply patch", kind=APPLY),
    _get("get", HAVE, 200),
    _get("get-absent", f"{MAPS}/absent", 404, "NotFound", 'configmaps "absent" not found'),
    _get("list-absent-namespace", "/api/v1/namespaces/absent/configmaps", 200),
    _get("no-resource", "/api/v1/frobs", 404, "NotFound", NOT_THERE),
    _get("no-group", "/apis/example.org/v1/frobs", 404),
    _get("no-path", "/frobs", 404),
    Row(id="method", method="PUT", path=MAPS, body=_map(), code=405, reason="MethodNotAllowed",
        says=NO_METHOD),
    Row(id="post-to-object", method="POST", path=HAVE, body=_map(), code=405,
        reason="MethodNotAllowed", says=NO_METHOD),
    _get("limit", MAPS, 400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax',
         limit="x"),
    _get("negative-limit", MAPS, 200, limit="-2"),
    _get("token", MAPS, 400, "BadRequest", "continue key is not valid", limit="2",
         **{"continue": "garbage"}),
    _get("label-selector", MAPS, 400, "BadRequest", "unable to parse requirement: ",
         labelSelector="a in"),
    _get("field-selector", MAPS, 400, "BadRequest",
         '"spec.nodeName" is not a known field selector: only "metadata.name", '
         '"metadata.namespace"',
         fieldSelector="spec.nodeName=x"),
    _get("field-selector-form", MAPS, 400, "BadRequest", "invalid selector: 'x'; can't understand",
         fieldSelector="x"),
    _get("pod-field-selector", PODS, 200, fieldSelector="spec.nodeName=x,status.phase!=Failed"),
    _get("pod-unknown-field", PODS, 400, "BadRequest", "field label not supported: spec.image",
         fieldSelector="spec.image=x"),
    _get("future", MAPS, 504, "Timeout", "Timeout: Too large resource version: 99999999, current: ",
         resourceVersion="99999999", resourceVersionMatch="Exact"),
    _get("version-text", MAPS, 400, "BadRequest", 'Invalid value: "abc"', resourceVersion="abc"),
    _get("match-without-version", MAPS, 422, "Invalid",
         "resourceVersionMatch is forbidden unless resourceVersion is provided",
         resourceVersionMatch="Exact"),
    _delete("delete", HAVE, None, 200),
    _delete("delete-absent", f"{MAPS}/absent", None, 404, "NotFound", 'configmaps "absent" not'),
    _delete("delete-uid", HAVE, {"preconditions": {"uid": "nope"}}, 409, "Conflict",
            'cannot be fulfilled on ConfigMap "have": the UID in the precondition (nope) does not '
            "match the UID in record"),
    _delete("delete-version", HAVE, {"preconditions": {"resourceVersion": "1"}}, 409, "Conflict",
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in "
            "record"),
    _delete("delete-policy", HAVE, {"propagationPolicy": "Frob"}, 422, "Invalid",
            'propagationPolicy: Unsupported value: "Frob"'),
    Row(id="pod-without-containers", method="POST", path=PODS, body=pod("q", containers=[]),
        code=422, reason="Invalid", says='Pod "q" is invalid: spec.containers: Required value'),
    Row(id="evict-absent", method="POST", path=f"{PODS}/absent/eviction",
        body={"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "absent"}},
        code=404, reason="NotFound", says='pods "absent" not found'),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_answer(face: ApiFace, row: Row) -> None:
    face.create(config_map("have"))
    found = face.answer(row.method, row.path, row.body, query=row.query, content_type=row.kind)
    assert (found.code, found.body.get("reason", "")) == (row.code, row.reason), found.data
    assert row.says in str(found.body.get("message", ""))
    if found.code >= 400 and found.body:
        head = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": row.code}
        assert head.items() <= found.body.items()


def test_a_warning_names_the_unknown_field(face: ApiFace) -> None:
    path = face.path("configmaps")
    found = face.answer("POST", path, {**config_map("warned"), "datta": {}})
    assert (found.code, found.headers.get("warning")) == (201, '299 - "unknown field \\"datta\\""')
    assert "datta" not in face.get("configmaps", "warned")
