"""Writes the objects of a cluster as people and tools dump them; each form by its name."""

import io
import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from gitbot.kubernetes.objects import KubernetesObject

Objects = Sequence[KubernetesObject]
_PLURALS = {
    "Node": "nodes",
    "Pod": "pods",
    "KubeVirt": "kubevirts",
    "VirtualMachineInstance": "virtualmachineinstances",
}


def listed(objects: Objects, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": [*objects], **more}


def _yaml(value: Any) -> str:
    """Block style without aliases, as kubectl writes it."""
    return yaml.safe_dump(json.loads(json.dumps(value)))


def _printed(objects: Objects) -> str:
    """As `kubectl get -o yaml` prints it."""
    return _yaml(listed(objects, metadata={"resourceVersion": ""}))


def _documents(objects: Objects) -> str:
    return "".join(f"---\n# Source: {each['kind']}\n{_yaml(each)}" for each in objects) + "---\n"


def _events(objects: Objects) -> str:
    """One node is gone at the end, and one has changed."""
    gone = {**objects[1], "metadata": {**objects[1]["metadata"], "name": "gone"}}
    full = {**objects[2], "status": {}}
    told = [("ADDED", gone), ("ADDED", full), *(("MODIFIED", it) for it in objects)]
    told += [("DELETED", gone), ("BOOKMARK", {"kind": "Node", "metadata": {}})]
    return "".join(json.dumps({"type": how, "object": it}, indent=4) + "\n" for how, it in told)


def _typed(objects: Objects) -> str:
    """As `kubectl get --raw` answers: the items of a typed list have no kind."""
    found = []
    for kind in _PLURALS:
        mine = [each for each in objects if each["kind"] == kind]
        bare = [{k: v for k, v in it.items() if k not in ("kind", "apiVersion")} for it in mine]
        version = mine[0]["apiVersion"] if mine else "v1"
        found.append({"kind": f"{kind}List", "apiVersion": version, "items": bare})
    return "\n".join(map(json.dumps, found))


def _managed(objects: Objects) -> str:
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, 'k:{"type":"Ready"}': {}}}}
    mark = [{"manager": "kubelet", "operation": "Update", "fieldsV1": fields}]
    last = {"kubectl.kubernetes.io/last-applied-configuration": '{"kind":"Node"}\n'}
    return _yaml(
        listed(
            [
                {**it, "metadata": {**it["metadata"], "managedFields": mark, "annotations": last}}
                for it in objects
            ]
        )
    )


def _kyaml(objects: Objects) -> str:
    """As `kubectl get -o kyaml` prints it: flow style, quoted texts, commas after the last."""
    text = json.dumps(listed(objects), indent=2)
    text = re.sub(r'(?m)^( *)"(\w+)": ', r"\1\2: ", text)
    return "---\n" + re.sub(r"(?m)([^,{[\n])$", r"\1,", text).rstrip(",") + "\n"


def _shouted(objects: Objects) -> str:
    """As `kubectl cluster-info dump` prints without --output-directory."""
    log = "==== START logs for container app of pod a/b ====\n{broken: [log\n==== END logs ====\n"
    return log.join(json.dumps(listed([each]), indent=4) + "\n" for each in objects) + log


def _gathered(objects: Objects, top: str = "must-gather.local.1/quay-io-x/") -> dict[str, str]:
    """As `oc adm must-gather` lays files out, with a file that is no YAML and a log."""
    found = {f"{top}version": "x\n", f"{top}namespaces/a/pods/b/c.log": "kind: Pod\n"}
    for each in objects:
        name, space = each["metadata"]["name"], each["metadata"].get("namespace")
        group = each["apiVersion"].rpartition("/")[0] or "core"
        where = f"namespaces/{space}" if space else "cluster-scoped-resources"
        found[f"{top}{where}/{group}/{_PLURALS[each['kind']]}/{name}.yaml"] = "---\n" + _yaml(each)
    return found


def _harvested(objects: Objects) -> dict[str, str]:
    """As Harvester's support bundle lays files out: a typed list for each kind."""
    found = {"supportbundle_1/logs/a/b/c.log": "x\n", "supportbundle_1/metadata.yaml": "a: 1\n"}
    for kind, plural in _PLURALS.items():
        mine = [each for each in objects if each["kind"] == kind]
        group = mine[0]["apiVersion"] if mine else "v1"
        space = "cluster" if kind == "Node" else "namespaced/default"
        found[f"supportbundle_1/yamls/{space}/{group}/{plural}.yaml"] = _yaml(listed(mine))
    return found


def _troubleshot(objects: Objects) -> dict[str, str]:
    """As troubleshoot.sh lays files out: custom resources are an array in YAML."""
    found = {"bundle/version.yaml": "apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\n"}
    for kind, plural in _PLURALS.items():
        mine = [each for each in objects if each["kind"] == kind]
        if kind in ("Node", "Pod"):
            name = "nodes.json" if kind == "Node" else "pods/default.json"
            found[f"bundle/cluster-resources/{name}"] = json.dumps(listed(mine))
        else:
            name = f"custom-resources/{plural}.kubevirt.io/default.yaml"
            found[f"bundle/cluster-resources/{name}"] = _yaml(mine)
    return found


def _backed_up(objects: Objects) -> dict[str, str]:
    """As Velero lays a backup out: each object twice, once below its preferred version."""
    found = {"metadata/version": "1.1.0"}
    for each in objects:
        name, space = each["metadata"]["name"], each["metadata"].get("namespace")
        group = each["apiVersion"].rpartition("/")[0]
        plural = f"{_PLURALS[each['kind']]}{f'.{group}' if group else ''}"
        where = f"namespaces/{space}" if space else "cluster"
        for version in ("", "v1-preferredversion/"):
            found[f"resources/{plural}/{version}{where}/{name}.json"] = json.dumps(each)
    return found


def _dumped(objects: Objects) -> dict[str, str]:
    """As `kubectl cluster-info dump --output-directory` lays files out, with KubeVirt's beside."""
    nodes = [each for each in objects if each["kind"] == "Node"]
    pods = [each for each in objects if each["kind"] == "Pod"]
    rest = [each for each in objects if each["kind"] not in ("Node", "Pod")]
    return {
        "nodes.json": json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": nodes}),
        "default/pods.json": json.dumps({"kind": "PodList", "apiVersion": "v1", "items": pods}),
        "default/db-x/logs.txt": "x\n",
        "kubevirt.yaml": _documents(rest),
    }


def _mac(objects: Objects) -> dict[str, str]:
    """A must-gather packed on macOS, with its AppleDouble files beside."""
    found = _gathered(objects)
    return {**found, "must-gather.local.1/._n1.yaml": "\0\5\26\7\0\2\0\0Mac OS X \x81"}


def _tar(files: dict[str, str], mode: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{mode}") as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            data = text.encode("latin-1")
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _zip(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


TEXTS: dict[str, Callable[[Objects], bytes]] = {
    "list": lambda it: json.dumps(listed(it)).encode(),
    "yaml-list": lambda it: _printed(it).encode(),
    "documents": lambda it: _documents(it).encode(),
    "bom": lambda it: _printed(it).encode("utf-8-sig"),
    "json-bom": lambda it: json.dumps(listed(it)).encode("utf-8-sig"),
    "utf-16": lambda it: b"\xff\xfe" + _printed(it).replace("\n", "\r\n").encode("utf-16-le"),
    "utf-16-be": lambda it: b"\xfe\xff" + _printed(it).encode("utf-16-be"),
    "json-utf-16": lambda it: b"\xff\xfe" + json.dumps(listed(it), indent=4).encode("utf-16-le"),
    "json-lines": lambda it: "\n".join(map(json.dumps, it)).encode(),
    "events": lambda it: _events(it).encode(),
    "typed": lambda it: _typed(it).encode(),
    "yaml-array": lambda it: _yaml([*it]).encode(),
    "managed": lambda it: _managed(it).encode(),
    "kyaml": lambda it: _kyaml(it).encode(),
    "shouted": lambda it: _shouted(it).encode(),
    "warned": lambda it: (
        "W0301 12:00:00.1 8 warnings.go:70] v1 X is deprecated\n" + _printed(it)
    ).encode(),
    "tar-gz": lambda it: _tar(_gathered(it), "gz"),
    "tar-xz": lambda it: _tar(_gathered(it), "xz"),
    "tar-mac": lambda it: _tar(_mac(it), "gz"),
    "zip": lambda it: _zip(_harvested(it)),
    "velero": lambda it: _tar(_backed_up(it), "gz"),
    "troubleshoot": lambda it: _tar(_troubleshot(it), "gz"),
    "nothing": lambda _: _zip({"a.log": "x"}),
    "zip-cut": lambda it: _zip(_harvested(it))[:-60],
}
FOLDERS: dict[str, Callable[[Objects], dict[str, str]]] = {
    "must-gather": _gathered,
    "cluster-info": _dumped,
}


def dump(folder: Path, objects: Objects, form: str) -> None:
    """Write `cluster`, a file or a folder."""
    if form not in FOLDERS:
        (folder / "cluster").write_bytes(TEXTS[form](objects))
        return
    for name, text in FOLDERS[form](objects).items():
        file = folder / "cluster" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
