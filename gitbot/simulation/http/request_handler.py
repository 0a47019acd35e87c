"""One request on the simulated API server: path, query and body in, status code and body out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitbot.errors import GitbotError
from gitbot.simulation.http import discovery, openapi
from gitbot.simulation.http.list_requests import Pages, Query, list_answer, one_answer, wanted_of
from gitbot.simulation.http.old_versions import (
    WARNING,
    is_old,
    present_body,
    present_path,
)
from gitbot.simulation.http.query_options import asked_of, check_apply, completed, delete_options
from gitbot.simulation.http.routes import Route, UnknownGroup, find_route, unknown_path
from gitbot.simulation.object_checks import another_name, check_replacement
from gitbot.simulation.simulated_api import ADMIN
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.status_errors import ApiError, bad_request

_PATCH_TYPES = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
REVIEWS = {
    "selfsubjectrulesreviews": ("authorization.k8s.io/v1", "SelfSubjectRulesReview"),
    "selfsubjectaccessreviews": ("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
    "selfsubjectreviews": ("authentication.k8s.io/v1", "SelfSubjectReview"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A decoded HTTP request. `body` is plain data, None if there is none."""

    method: str
    path: str
    query: Query
    body: Any = None
    accept: str = ""
    content_type: str = ""
    user: str = ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What to send back."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()
    content_type: str = "application/json"


class Handler:
    """Answers all requests except watches. Call it under the lock of the face."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self.pages = Pages()

    def answer(self, request: HttpRequest) -> Response:
        try:
            if is_old(request.path):
                return self._old(request)
            return self._fixed(request) or self._on_resource(request)
        except UnknownGroup:
            text = "text/plain; charset=utf-8"
            return Response(code=404, body="404 page not found\n", content_type=text)
        except ApiError as refusal:
            return Response(code=refusal.code, body=refusal.status())
        except (AttributeError, GitbotError, KeyError, TypeError, ValueError) as failure:
            message = f"the object has a shape that nobody expected: {failure!r}"
            broken = ApiError(message, code=500, reason="InternalError")
            return Response(code=500, body=broken.status())

    def _old(self, request: HttpRequest) -> Response:
        path, body = present_path(request.path), present_body(request.body)
        response = self._on_resource(replace(request, path=path, body=body))
        return replace(response, warnings=(*response.warnings, WARNING))

    def _fixed(self, request: HttpRequest) -> Response | None:
        parts = request.path.strip("/").split("/")
        if parts[-1] in REVIEWS and request.method == "POST":
            return Response(code=201, body=_review(parts[-1], request))
        if request.method != "GET":
            return None
        match parts:
            case ["version"]:
                return Response(code=200, body=discovery.VERSION)
            case ["healthz" | "livez" | "readyz"]:
                return Response(code=200, body="ok", content_type="text/plain")
            case ["api" | "apis" as root]:
                return _groups(request, core=root == "api")
            case ["api", version]:
                return _resources("", version)
            case ["apis", group]:
                return _resources(group, "")
            case ["apis", group, version]:
                return _resources(group, version)
            case ["openapi", "v3"]:
                return Response(code=200, body=openapi.index())
            case ["openapi", "v3", "api", version]:
                return Response(code=200, body=openapi.document("", version))
            case ["openapi", "v3", "apis", group, version]:
                return Response(code=200, body=openapi.document(group, version))
        return None

    def _on_resource(self, request: HttpRequest) -> Response:
        route = find_route(request.path)
        try:
            return self._dispatch(request, route)
        finally:  # a refused eviction still leaves its mark
            if request.method != "GET":
                self._cluster.engine.run_ready()

    def _dispatch(self, request: HttpRequest, route: Route) -> Response:
        match (request.method, bool(route.name), route.subresource):
            case ("GET", False, ""):
                return self._list(request, route)
            case ("GET", True, "" | "status"):
                return self._get(request, route)
            case ("POST", False, ""):
                return self._create(request, route)
            case ("POST", True, "eviction"):
                return self._evict(request, route)
            case ("PUT", True, "" | "status"):
                return self._update(request, route)
            case ("PATCH", True, "" | "status"):
                return self._patch(request, route)
            case ("DELETE", True, ""):
                return self._delete(request, route)
            case ("DELETE", False, ""):
                return self._delete_collection(request, route)
        raise ApiError(
            "the server does not allow this method on the requested resource",
            code=405,
            reason="MethodNotAllowed",
        )

    def _list(self, request: HttpRequest, route: Route) -> Response:
        wanted = wanted_of(request.accept, request.query)
        body = list_answer(
            store=self._cluster.store,
            pages=self.pages,
            route=route,
            query=request.query,
            wanted=wanted,
            now=self._cluster.now(),
        )
        return Response(code=200, body=body)

    def _get(self, request: HttpRequest, route: Route) -> Response:
        obj = self._cluster.store.get(route.resource.kind, route.key)
        wanted = wanted_of(request.accept, request.query)
        return Response(code=200, body=one_answer(obj, wanted, self._cluster.now()))

    def _create(self, request: HttpRequest, route: Route) -> Response:
        body = completed(request.body, route)
        if body["metadata"].get("resourceVersion"):
            message = "resourceVersion should not be set on objects to be created"
            raise ApiError(message, code=500, reason="")
        answer = self._cluster.api.create(
            body,
            namespace=route.namespace,
            asked=asked_of(request.method, request.query, request.user),
        )
        return self._written(request, 201, answer.object, answer.warnings)

    def _update(self, request: HttpRequest, route: Route) -> Response:
        body = completed(request.body, route)
        if body["metadata"].get("name") != route.name:
            raise another_name(body["metadata"].get("name"), route.name)
        check_replacement(route.resource, body)
        answer = self._cluster.api.update(
            body,
            subresource=route.subresource,
            asked=asked_of(request.method, request.query, request.user),
        )
        return self._written(request, 200, answer.object, answer.warnings)

    def _patch(self, request: HttpRequest, route: Route) -> Response:
        how = _PATCH_TYPES.get(request.content_type.split(";")[0].strip())
        custom = route.resource.custom
        if how is None or (how == "strategic" and custom):
            raise ApiError("415: Unsupported Media Type", code=415, reason="UnsupportedMediaType")
        existed = self._cluster.store.find(route.resource.kind, route.key) is not None
        if how == "apply":
            check_apply(request.query, request.body, route, existed=existed)
        answer = self._cluster.api.patch(
            route.resource.kind,
            route.key,
            request.body,
            how=how,  # type: ignore[arg-type]
            subresource=route.subresource,
            asked=asked_of(request.method, request.query, request.user),
        )
        return self._written(request, 200 if existed else 201, answer.object, answer.warnings)

    def _delete(self, request: HttpRequest, route: Route) -> Response:
        options = delete_options(request.query, request.body)
        kind = route.resource.kind
        last = self._cluster.api.delete(
            kind,
            route.key,
            options=options,
            asked=asked_of(request.method, request.query, request.user),
        )
        if self._cluster.store.find(kind, route.key) is not None and not options.get("dryRun"):
            return Response(code=200, body=last)
        group = {"group": route.resource.group} if route.resource.group else {}
        details = {
            "name": route.name,
            **group,
            "kind": route.resource.plural,
            "uid": last["metadata"]["uid"],
        }
        return Response(code=200, body=_success(details))

    def _delete_collection(self, request: HttpRequest, route: Route) -> Response:
        listed = list_answer(
            store=self._cluster.store,
            pages=Pages(),
            route=route,
            query=request.query,
            wanted=wanted_of("", {}),
            now=self._cluster.now(),
        )
        for obj in listed["items"]:
            key = (obj["metadata"].get("namespace") or "", obj["metadata"]["name"])
            options = delete_options(request.query, request.body)
            kind = route.resource.kind
            self._cluster.api.delete(
                kind,
                key,
                options=options,
                asked=asked_of(request.method, request.query, request.user),
            )
        return Response(code=200, body=listed)

    def _evict(self, request: HttpRequest, route: Route) -> Response:
        named = ((request.body or {}).get("metadata") or {}).get("name")
        if named not in (None, "", route.name):
            raise bad_request("name in URL does not match name in Eviction object")
        self._cluster.api.evict(
            route.key,
            request.body or {},
            asked=asked_of(request.method, request.query, request.user),
        )
        return Response(code=201, body=_success({}))

    def _written(
        self, request: HttpRequest, code: int, obj: Any, warnings: tuple[str, ...]
    ) -> Response:
        wanted = wanted_of(request.accept, request.query)
        body = one_answer(obj, wanted, self._cluster.now())
        return Response(code=code, body=body, warnings=warnings)


def _success(details: Mapping[str, Any]) -> dict[str, Any]:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**status, "details": dict(details)} if details else {**status, "code": 201}


def _groups(request: HttpRequest, *, core: bool) -> Response:
    if "as=APIGroupDiscoveryList" in request.accept and "v=v2;" in request.accept + ";":
        media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return Response(code=200, body=discovery.aggregated(core=core), content_type=media)
    body = discovery.core_versions() if core else discovery.group_list()
    return Response(code=200, body=body)


def _resources(group: str, version: str) -> Response:
    known = discovery.group_versions()
    if version and (group, version) in known:
        return Response(code=200, body=discovery.resource_list(group, version))
    if not version and group in {name for name, _ in known}:
        return Response(code=200, body=discovery.group_document(group))
    raise unknown_path()


def _review(kind: str, request: HttpRequest) -> dict[str, Any]:
    if kind == "selfsubjectreviews":
        status: dict[str, Any] = {"userInfo": {"username": request.user, "groups": []}}
    elif kind == "selfsubjectrulesreviews":
        every = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        status = {"resourceRules": [every], "nonResourceRules": [], "incomplete": False}
    else:
        status = {"allowed": True, "reason": "the simulated cluster allows everything"}
    body = dict(request.body) if isinstance(request.body, Mapping) else {}
    version, name = REVIEWS[kind]
    return {"metadata": {}, "spec": {}, **body, "apiVersion": version, "kind": name} | {
        "status": status
    }
