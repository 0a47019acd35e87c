"""Pull requests that take pins out of VM manifests, and what to type where no file has the pin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from gitbot.audit import NodePin, pin_in, rule_of_pin, without_pins
from gitbot.constraints.moves.instances import Instances
from gitbot.documents import write_shown
from gitbot.errors import InvalidInput
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.text.wording import counted, first_of
from gitbot.ports.forge import PullRequest, PullState
from gitbot.workflows.author.run import open_change
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision import INTENTS

_READ = (".yaml", ".yml", ".json")
_GONE = (
    "No VM moves; only what pins it to its node goes. Where it was only to be there once, "
    "`gitbot move` asks for that."
)
_STAYS = "Where a VM shall stay on its node, commit the rule below in another pull request."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A VM that its own spec keeps on a node. `files` of this repository lose the pin."""

    vm: NamespacedName
    node: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpinning:
    """`files` are the changed manifests. `typed` says what to do about the pins of no file."""

    base: str
    files: Mapping[str, bytes]
    pinned: tuple[Pinned, ...]
    typed: tuple[str, ...]
    rules: Mapping[str, str]
    unlabelled: tuple[NamespacedName, ...] = ()  # no rule can select one of these alone

    @property
    def branch(self) -> str:
        texts = sha256()
        for path, data in sorted(self.files.items()):
            texts.update(f"{path}\0{len(data)}\0".encode() + data)
        return f"unpin/{texts.hexdigest()[:12]}"

    @property
    def title(self) -> str:
        names = [str(item.vm) for item in self.pinned if item.files]
        return f"Unpin {counted(len(names), 'VM')}: {first_of(names, 3)}"

    @property
    def body(self) -> str:
        """What goes, and the rules that say the same."""
        lines = [
            f"- {item.vm} from {item.node}: {', '.join(item.files)}"
            for item in self.pinned
            if item.files
        ]
        offered = [f"`{path}`\n\n```yaml\n{text}```" for path, text in self.rules.items()]
        if offered:
            offered.insert(0, _STAYS)
        if self.unlabelled:
            listed = first_of(list(map(str, self.unlabelled)), 3)
            offered.append(
                f"No rule is offered for {listed}: no label is its own. If it shall stay, give it "
                "one."
            )
        return "\n\n".join(["\n".join(lines), _GONE, *offered])


def unpinning(
    shell: RunContext,
    instances: Instances,
    pinned: Sequence[Pinned],
    elsewhere: Iterable[tuple[str, KubernetesObject]] = (),
) -> Unpinning:
    """What the base branch's manifests are without the pins of these VMs.

    `elsewhere` are all manifests that the audit has read, with the files' names.
    """
    base = shell.repository.commit(shell.base_branch).id
    settings = shell.read_base(base).settings
    texts = {
        path: data
        for folder in settings.manifest_folders
        for path, data in shell.repository.read_tree(base, f"{folder.rstrip('/')}/").items()
        if path.lower().endswith(_READ)
    }
    before, typed, found = dict(texts), [], []
    outside = [item for item in elsewhere if item[0] not in texts]
    for item in pinned:
        names = _names(instances, item.vm)
        cut, by_hand = _cut(texts, names)
        texts |= cut
        found.append(replace(item, files=tuple(sorted(cut))))
        typed += [f"{path}: take the pin of {item.vm} out by hand" for path in by_hand]
        if not cut and not by_hand:
            there = [(file, obj) for file, obj in outside if name_of(obj) in names]
            typed.append(f"{item.vm}: {_typed(instances, item.vm, there)}")
    offered = tuple(_offered(shell, instances, found))
    return Unpinning(
        base=base,
        files={path: data for path, data in texts.items() if data != before[path]},
        pinned=tuple(found),
        typed=tuple(typed),
        rules={path: text for _, path, text in offered},
        unlabelled=tuple(
            item.vm for item in found if item.files and item.vm not in {vm for vm, *_ in offered}
        ),
    )


def _names(instances: Instances, vm: NamespacedName) -> tuple[NamespacedName, ...]:
    """How manifests may name the VM: without a namespace only if no other VM has its name."""
    others = any(name.name == vm.name and name != vm for name in instances)
    return (vm,) if others else (vm, NamespacedName(namespace="", name=vm.name))


def _cut(
    texts: Mapping[str, bytes], names: Sequence[NamespacedName]
) -> tuple[dict[str, bytes], list[str]]:
    """The files that lose a pin of the VM, and those in which it cannot be cut out of the text."""
    changed: dict[str, bytes] = {}
    by_hand: list[str] = []
    for path, data in texts.items():
        if names[0].name.encode() not in data:
            continue
        try:
            shorter = without_pins(data, path, names)
        except InvalidInput:
            continue  # the audit names files that it cannot read
        if shorter is None:
            by_hand.append(path)
        elif shorter != data:
            changed[path] = shorter
    return changed, by_hand


def _typed(
    instances: Instances, vm: NamespacedName, outside: Iterable[tuple[str, KubernetesObject]]
) -> str:
    """Where the pin is, if no file of this repository has it, and what removes it."""
    for file, manifest in outside:
        if pin_in(manifest) is not None:
            return f"its pin is in {file}: change it there"
    machine = instances[vm].vm
    if machine is None:
        return "it has no VirtualMachine: whatever made it makes it again without the pin"
    pin: NodePin | None = pin_in(machine)
    if pin is None:
        return "its VirtualMachine no longer asks for it: the pin ends at the VM's next start"
    patch = f'[{{"op": "remove", "path": "{pin.pointer}"}}]'
    return (
        "the pin is in no file, only in the cluster; type: "
        f"kubectl patch vm {vm.name} -n {vm.namespace} --type=json -p '{patch}'"
    )


def _offered(
    shell: RunContext, instances: Instances, found: Iterable[Pinned]
) -> Iterator[tuple[NamespacedName, str, str]]:
    """Files of rules that keep the VMs where they are: VM, path, text."""
    for item in found:
        rule = rule_of_pin(instances, item.vm, item.node)
        if item.files and rule is not None:
            folder = f"{INTENTS}{shell.cluster_name}/{item.vm.namespace}"
            yield item.vm, f"{folder}/{rule['metadata']['name']}.yaml", write_shown(rule)


def open_unpinning(shell: RunContext, change: Unpinning) -> tuple[PullRequest, bool]:
    """The pull request, and whether it was open already. Raises ConflictError."""
    for pull in shell.forge.list_pulls(state=PullState.OPEN):
        if pull.branch == change.branch and pull.base_branch == shell.base_branch:
            return pull, True
    opened = open_change(
        shell,
        base=change.base,
        branch=change.branch,
        files=change.files,
        title=change.title,
        body=change.body,
        hint=f"its pull request was closed: delete {change.branch} to open another",
    )
    return opened, False
