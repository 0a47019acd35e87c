"""Lists: selectors, pages, and the three forms of an answer (objects, metadata only, Table)."""

from __future__ import annotations

import base64
import binascii
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.simulation.http.routes import Route
from gitbot.simulation.http.tables import partial, table
from gitbot.simulation.selectors import Match, field_match, label_match
from gitbot.simulation.served_resources import ServedResource
from gitbot.simulation.status_errors import ApiError, bad_request, gone, wrong_options
from gitbot.simulation.store import Store

Form = Literal["objects", "table", "metadata"]
Query = Mapping[str, str]
_KEPT_PAGES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The form in which the client wants objects."""

    form: Form
    include: str = "Metadata"


def wanted_of(accept: str, query: Query) -> Wanted:
    form: Form = "objects"
    first = accept.split(",", maxsplit=1)[0]
    if "as=Table" in first:
        form = "table"
    elif "as=PartialObjectMetadata" in first:
        form = "metadata"
    return Wanted(form=form, include=query.get("includeObject", "Metadata"))


def matcher(route: Route, query: Query) -> Match:
    """The predicate of a list or watch: namespace, name and selectors."""
    labels = label_match(query.get("labelSelector", ""))
    fields = field_match(query.get("fieldSelector", ""), route.resource)

    def holds(obj: KubernetesObject) -> bool:
        metadata = obj["metadata"]
        if route.namespace and metadata.get("namespace") != route.namespace:
            return False
        if route.name and metadata["name"] != route.name:
            return False
        return labels(obj) and fields(obj)

    return holds


class Pages:
    """The rest of lists that were cut by `limit`: each keeps the state of its first page."""

    def __init__(self) -> None:
        self._rest: OrderedDict[int, tuple[str, tuple[KubernetesObject, ...]]] = OrderedDict()
        self._next = 0

    def cut(
        self, version: str, objects: Sequence[KubernetesObject], limit: int
    ) -> tuple[tuple[KubernetesObject, ...], str]:
        """The first `limit` objects, and the token for the others ("" if there are none)."""
        if not limit or len(objects) <= limit:
            return tuple(objects), ""
        self._next += 1
        self._rest[self._next] = (version, tuple(objects[limit:]))
        while len(self._rest) > _KEPT_PAGES:
            self._rest.popitem(last=False)
        token = json.dumps({"v": "meta.k8s.io/v1", "page": self._next, "rv": version})
        return tuple(objects[:limit]), base64.urlsafe_b64encode(token.encode()).decode()

    def resume(self, token: str) -> tuple[str, tuple[KubernetesObject, ...]]:
        """Version and objects behind a token; raises 400 and 410."""
        try:
            page = int(json.loads(base64.urlsafe_b64decode(token))["page"])
        except (binascii.Error, ValueError, KeyError, TypeError):
            raise bad_request(
                f"invalid continue token: continue key is not valid: {token!r}"
            ) from None
        if page not in self._rest:
            raise gone(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter."
            )
        return self._rest[page]

    def forget(self) -> None:
        """Let every token expire."""
        self._rest.clear()


def list_answer(
    *, store: Store, pages: Pages, route: Route, query: Query, wanted: Wanted, now: int
) -> dict[str, Any]:
    limit = _limit(query)
    if query.get("continue"):
        version, objects = pages.resume(query["continue"])
    else:
        number = _version(store, query)
        version = str(number)
        holds = matcher(route, query)
        kind = route.resource.kind
        listed = (
            store.all(kind, route.namespace)
            if number == store.version
            else store.all_at(kind, number, route.namespace)
        )
        objects = tuple(obj for obj in listed if holds(obj))
    page, token = pages.cut(version, objects, limit)
    metadata: dict[str, Any] = {"resourceVersion": version}
    if token:
        metadata["continue"] = token
        if not (query.get("labelSelector") or query.get("fieldSelector")):
            metadata["remainingItemCount"] = len(objects) - len(page)
    return _list(route.resource, page, metadata, wanted, now)


def _list(
    resource: ServedResource,
    objects: Sequence[KubernetesObject],
    metadata: Mapping[str, Any],
    wanted: Wanted,
    now: int,
) -> dict[str, Any]:
    if wanted.form == "table":
        return table(resource.kind, objects, now=now, metadata=metadata, include=wanted.include)
    if wanted.form == "metadata":
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "items": [partial(obj) for obj in objects],
        }
    return {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        "items": list(objects) if resource.custom else [_without_type(obj) for obj in objects],
    }


def _without_type(obj: KubernetesObject) -> dict[str, Any]:
    """An item of a list of a built-in kind: only custom resources repeat their kind."""
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}


def one_answer(obj: KubernetesObject, wanted: Wanted, now: int) -> Mapping[str, Any]:
    """One object in the form that the client wants."""
    if wanted.form == "table":
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        kind = obj["kind"]
        return table(kind, [obj], now=now, metadata=metadata, include=wanted.include)
    return partial(obj) if wanted.form == "metadata" else obj


def shaper(wanted: Wanted, now: Callable[[], int]) -> Callable[[KubernetesObject], Any]:
    """The same for the events of one watch: only the first table has column definitions."""
    headed = True

    def shape(obj: KubernetesObject) -> Any:
        nonlocal headed
        if wanted.form != "table":
            return one_answer(obj, wanted, now())
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        answer = table(
            obj["kind"],
            [obj],
            now=now(),
            metadata=metadata,
            include=wanted.include,
            headed=headed,
        )
        headed = False
        return answer

    return shape


def _version(store: Store, query: Query) -> int:
    """The version to list at: the one asked for with resourceVersionMatch=Exact, else the latest.

    Raises 504 for a future version, as the API server does after its wait.
    """
    text, match = query.get("resourceVersion") or "", query.get("resourceVersionMatch") or ""
    if match and not text:
        forbidden = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise wrong_options(
            "ListOptions", "resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {forbidden}"
        )
    if text and not text.isdigit():
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    asked = int(text or "0")
    if asked > store.version:
        cause = {"message": "Too large resource version", "reason": "ResourceVersionTooLarge"}
        raise ApiError(
            f"Timeout: Too large resource version: {asked}, current: {store.version}",
            code=504,
            reason="Timeout",
            details={"causes": [cause], "retryAfterSeconds": 1},
        )
    return asked if asked and match == "Exact" else store.version


def _limit(query: Query) -> int:
    """The `limit` of a list, 0 for none; a negative one counts as none."""
    text = query.get("limit") or "0"
    try:
        return max(int(text), 0)
    except ValueError:
        message = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        raise bad_request(message) from None
