"""Small clusters of single scenarios: `<scenario>/<file>` to its objects."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import ZONE, node, pod, vm

Objects = Iterable[KubernetesObject | tuple[KubernetesObject, ...]]
HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def kubevirt(**configuration: Any) -> KubernetesObject:
    """The KubeVirt object, deployed."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": configuration},
        "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0"},
    }


def changed(obj: KubernetesObject, *path: str, value: Any) -> KubernetesObject:
    """A copy of an object with one value set."""
    if len(path) == 1:
        return {**obj, path[0]: value}
    return {**obj, path[0]: changed(obj.get(path[0]) or {}, *path[1:], value=value)}


def with_limits(obj: KubernetesObject) -> KubernetesObject:
    """The pod with limits on its first container."""
    container = dict(obj["spec"]["containers"][0])
    container["resources"] = {
        **container["resources"],
        "limits": {"cpu": "3", "memory": "15Gi"},
    }
    return changed(obj, "spec", "containers", value=[container])


def two_nodes(**sizes: str) -> Objects:
    """node-a and node-b, alike."""
    return [kubevirt(), node("node-a", **sizes), node("node-b", **sizes)]  # type: ignore[arg-type]


def three_zones() -> Objects:
    """One node in each of three zones."""
    return [kubevirt(), *(node(f"node-{zone}", zone=zone) for zone in ("a", "b", "c"))]


def loaded() -> Objects:
    """node-a with a VM that can move, one that cannot, and a pod that is bound to it."""
    nodes = [node(name, cpu="16", memory="64Gi") for name in ("node-a", "node-b", "node-c")]
    stress = changed(pod("stress", on="node-a"), "spec", "nodeSelector", value={HOSTNAME: "node-a"})
    return [
        kubevirt(),
        *nodes,
        vm("web", on="node-a", cpu="1", memory="2Gi"),
        vm("db", on="node-a", cpu="1", memory="2Gi", migratable=False),
        stress,
    ]


def requests_only(busy: KubernetesObject) -> Objects:
    """A VM on node-a beside a busy node-b and an idle node-c."""
    small = {"cpu": "4", "memory": "16Gi"}
    nodes = [node(name, **small) for name in ("node-a", "node-b", "node-c")]  # type: ignore[arg-type]
    return [kubevirt(), *nodes, vm("web", on="node-a", cpu="1", memory="2Gi"), busy]


def shares(cpu_a: int, memory_a: int, cpu_b: int, memory_b: int) -> Objects:
    """Two nodes of 100 cpus and 100Gi, loaded in percent, and a pod of 20 % and 20 %."""
    return [
        *(node(name, cpu="100", memory="100Gi") for name in ("node-a", "node-b")),
        pod("load-a", on="node-a", cpu=str(cpu_a), memory=f"{memory_a}Gi"),
        pod("load-b", on="node-b", cpu=str(cpu_b), memory=f"{memory_b}Gi"),
        pod("new", cpu="20", memory="20Gi"),
    ]


def asks() -> Objects:
    """Four pods that ask 1 % each, one pending pod of 70 % and one of 98 %."""
    ones = [pod(f"one-{n}", on="node-a", cpu="100m", memory="100Mi") for n in range(1, 5)]
    return [
        node("node-a", cpu="10", memory="10Gi"),
        *ones,
        pod("asks-70", cpu="7", memory="1Gi"),
        pod("asks-98", cpu="9800m", memory="1Gi"),
    ]


def uneven() -> Objects:
    """Three nodes; node-a is nearly full, node-c nearly empty, and two web VMs must stay apart."""
    nodes = [node(f"node-{name}", zone=name, memory="32Gi") for name in "abc"]
    sizes = {"web-1": 8, "web-2": 4, "batch": 10, "cache": 6}
    labels = {"team": "shop"}
    homes = {"web-2": "node-b"}
    vms = [
        vm(
            name,
            on=homes.get(name, "node-a"),
            memory=f"{size}Gi",
            labels={**labels, "app": name.split("-")[0]},
        )
        for name, size in sizes.items()
    ]
    return [kubevirt(), *nodes, *vms]


def strategies() -> Objects:
    """Five VMs that differ in evictionStrategy and in whether they can migrate."""
    wanted = {
        "live": ("LiveMigrate", True),
        "if-possible": ("LiveMigrateIfPossible", False),
        "none": ("None", True),
        "external": ("External", True),
        "stuck": ("LiveMigrate", False),
    }
    objects: list[KubernetesObject | tuple[KubernetesObject, ...]] = [*two_nodes()]
    for name, (strategy, migratable) in wanted.items():
        instance, launcher = vm(name, on="node-a", migratable=migratable)
        spec = changed(instance, "spec", "evictionStrategy", value=strategy)
        objects.append((spec, launcher))
    return objects


def preflight() -> Objects:
    """A VM that may go, one whose guest is paused, one that cannot migrate."""
    instance, launcher = vm("paused", on="node-a")
    conditions = [*instance["status"]["conditions"], {"type": "Paused", "status": "True"}]
    return [
        *two_nodes(),
        vm("web", on="node-a"),
        (changed(instance, "status", "conditions", value=conditions), launcher),
        vm("pinned", on="node-a", migratable=False),
    ]


def not_migratable() -> Objects:
    """One VM that cannot migrate, one that does not say, one that can."""
    instance, launcher = vm("unknown", on="node-a")
    silent = changed(instance, "status", "conditions", value=[{"type": "Ready", "status": "True"}])
    return [
        *two_nodes(),
        vm("pinned", on="node-a", migratable=False),
        (silent, launcher),
        vm("free", on="node-a"),
    ]


def foreign_migration() -> Objects:
    """Eight VMs on node-a, tight limits, and a migration of somebody else."""
    limits = {"parallelMigrationsPerCluster": 4, "parallelOutboundMigrationsPerNode": 3}
    return [
        kubevirt(migrations=limits),
        *(node(name) for name in ("node-a", "node-b", "node-c", "node-d")),
        *(vm(f"vm-{n}", on="node-a") for n in range(1, 9)),
        vm("other", on="node-d"),
        evacuation("1", vmi="other", phase="Running"),
    ]


def evacuation(name: str, *, vmi: str, phase: str) -> KubernetesObject:
    """A migration of somebody else."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {
            "name": f"kubevirt-evacuation-{name}",
            "namespace": "default",
            "uid": f"m-{name}",
            "labels": {"kubevirt.io/vmi-name": vmi},
        },
        "spec": {"vmiName": vmi},
        "status": {"phase": phase},
    }


def queued() -> Objects:
    """One VM to move, and two migrations of others that leave the same node."""
    others = {"batch": ("8Gi", "Running"), "cache": ("4Gi", "Pending")}
    return [
        *two_nodes(),
        vm("web", on="node-a"),
        *(vm(name, on="node-a", memory=memory) for name, (memory, _) in others.items()),
        *(evacuation(name, vmi=name, phase=phase) for name, (_, phase) in others.items()),
    ]


def stand_alone_machine() -> Objects:
    """A VirtualMachine that does not run: four vCPUs, 2Gi for the guest."""
    return [
        *two_nodes(),
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": "big", "namespace": "default", "uid": "vm-big"},
            "spec": {
                "runStrategy": "Halted",
                "template": {
                    "metadata": {"labels": {"app": "big"}},
                    "spec": {
                        "domain": {
                            "cpu": {"cores": 4},
                            "devices": {},
                            "memory": {"guest": "2Gi"},
                        }
                    },
                },
            },
        },
    ]


def pair() -> Objects:
    """A VM that must share the node of another."""
    term = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": HOSTNAME}
    return [
        *two_nodes(),
        vm("cache", on="node-a", labels={"app": "cache"}),
        vm("app", on="node-a", affinity={"podAffinity": {REQUIRED: [term]}}),
    ]


def silent() -> Objects:
    """The kubelet of node-a stopped posting, virt-handler of node-b is silent, node-c answers."""
    lost = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "lastTransitionTime": "2026-12-01T00:58:00Z",
    }
    instance, launcher = vm("db", on="node-a")
    patience = [
        {
            "key": f"node.kubernetes.io/{taint}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for taint in ("not-ready", "unreachable")
    ]
    return [
        kubevirt(),
        changed(node("node-a"), "status", "conditions", value=[lost]),
        node("node-b", labels={"kubevirt.io/schedulable": "false"}),
        node("node-c"),
        (instance, changed(launcher, "spec", "tolerations", value=patience)),
        vm("web", on="node-b"),
    ]


def soft() -> Objects:
    """kni-worker is to be emptied; the only other node of the cluster is a fast one."""
    return [
        kubevirt(),
        node("kni-worker", zone="scu", unschedulable=True),
        node("kni-worker2", zone="scu", labels={"performance": "high"}),
        vm("cache", on="kni-worker", labels={"app": "cache"}),
    ]


def webs(*places: str) -> Objects:
    """VMs web-1, web-2, … on these nodes of two."""
    return [
        *two_nodes(),
        *(vm(f"web-{n}", on=on, labels={"app": "web"}) for n, on in enumerate(places, 1)),
    ]


def ssd(*, both: bool) -> Objects:
    """Three nodes; node-b carries disk=ssd or does not."""
    fast = {"disk": "ssd"}
    return [
        kubevirt(),
        node("node-a", labels=fast),
        node("node-b", labels=fast if both else {}),
        node("node-c", labels=fast),
        vm("web", on="node-a", node_selector=fast),
    ]


def databases(*places: str) -> Objects:
    """VMs db-1, db-2, … on these nodes of three zones."""
    return [
        *three_zones(),
        *(vm(f"db-{n}", on=on, labels={"app": "db"}) for n, on in enumerate(places, 1)),
    ]


def racks() -> Objects:
    """A VM that asks for rack=a by itself."""
    return [
        kubevirt(),
        *(node(f"node-{rack}", labels={"rack": rack}) for rack in ("a", "b")),
        node("node-a2", labels={"rack": "a"}),
        vm("web", on="node-a", node_selector={"rack": "a"}),
    ]


def shop() -> Objects:
    """Eleven VMs of 4Gi, and a host with room for nine."""
    return [
        kubevirt(),
        node("node-a"),
        node("node-b", memory="38Gi"),
        *(
            vm(f"shop-{n:02}", on="node-a", labels={"app": "shop"}, memory="4Gi")
            for n in range(1, 12)
        ),
    ]


def wish() -> Objects:
    """node-a has hdd, node-b ssd: emptying node-a misses a wish."""
    return [
        kubevirt(),
        node("node-a", labels={"disk": "hdd"}),
        node("node-b", labels={"disk": "ssd"}),
        vm("web", on="node-a", labels={"app": "web"}),
    ]


def unlabelled() -> Objects:
    """Two nodes with a zone, two without; a database on one of those."""
    return [
        kubevirt(),
        node("node-a", zone="a"),
        node("node-b", zone="b"),
        node("node-x"),
        node("node-y"),
        vm("db-1", on="node-a", labels={"app": "db"}),
        vm("db-2", on="node-x", labels={"app": "db"}),
    ]


def started(objects: Objects, time: str) -> Objects:
    """The same objects; their pods have run since then."""
    return [
        changed(obj, "status", "startTime", value=time) if obj["kind"] == "Pod" else obj
        for obj in flat(objects)
    ]


def apart(key: str, value: str, topology_key: str) -> dict[str, Any]:
    """One required anti-affinity term."""
    term = {"labelSelector": {"matchLabels": {key: value}}, "topologyKey": topology_key}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def _wanted_nodes(**labels: str) -> dict[str, Any]:
    """A preference of weight 50 for nodes with these labels."""
    expressions = [
        {"key": key, "operator": "In", "values": [value]} for key, value in labels.items()
    ]
    wish = {"weight": 50, "preference": {"matchExpressions": expressions}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


def relabelled() -> Objects:
    """Of each kind of term one VM whose node no longer satisfies it, and one that is well."""
    rack = "example.com/rack"
    spread = {
        "maxSkew": 1,
        "topologyKey": rack,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    company = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": rack}
    near = {"podAffinity": {REQUIRED: [company]}}
    replica, lone = pod("api-1", on="node-c", labels={"app": "api"}), pod("api-2", on="node-c")
    others = {"labelSelector": {"matchLabels": {"app": "api"}}, "topologyKey": HOSTNAME}
    soft = {"weight": 100, "podAffinityTerm": others}
    wish = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [soft]}}
    replica = changed(replica, "spec", "affinity", value=wish)
    lone = changed(lone, "metadata", "labels", value={"app": "api"})
    objects: Objects = [
        kubevirt(),
        node("node-a", labels={rack: "1", "disk": "ssd"}),
        node("node-b", labels={rack: "1", "disk": "hdd"}),  # was rack 2 with an ssd
        node("node-c", labels={rack: "3", "disk": "ssd"}),
        node("node-d", labels={"disk": "ssd"}),
        vm("disk-well", on="node-a", node_selector={"disk": "ssd"}),
        vm("disk-ill", on="node-b", node_selector={"disk": "ssd"}),
        vm("wish-well", on="node-a", affinity=_wanted_nodes(disk="ssd")),
        vm("wish-ill", on="node-b", affinity=_wanted_nodes(disk="ssd")),
        *(
            vm(f"db-{on[-1]}", on=on, labels={"app": "db"}, affinity=apart("app", "db", rack))
            for on in ("node-a", "node-b", "node-c")
        ),
        vm("web-1", on="node-a", labels={"app": "web"}, topology_spread=[spread]),
        vm("web-2", on="node-b", labels={"app": "web"}),
        vm("cache", on="node-c", labels={"app": "cache"}),
        vm("near-well", on="node-c", affinity=near),
        vm("near-ill", on="node-b", affinity=near),
        replica,
        lone,
    ]
    return started(objects, "2026-11-21T01:00:00Z")


def contradicted() -> Objects:
    """Three zones; a database that two rules pull apart, and four that three zones must hold."""
    return started(
        [
            *three_zones(),
            vm("db", on="node-a", labels={"app": "db"}),
            *(vm(f"log-{n}", on="node-b", labels={"app": "log"}) for n in (1, 2)),
            vm("fast", on="node-c", labels={"app": "fast"}, node_selector={ZONE: "c"}),
            vm("well", on="node-c", labels={"app": "well"}),
        ],
        "2026-11-21T01:00:00Z",
    )


def opted_out() -> Objects:
    """Two VMs whose owners keep gitbot away, and one without such a label, all on node-a."""
    label = "placement.gitbot.dev/move"
    return [
        *two_nodes(),
        vm("ledger", on="node-a", labels={label: "never"}),
        vm("shop", on="node-a", labels={label: "only-requested"}),
        vm("web", on="node-a"),
    ]


def machine(
    name: str, *, labels: Mapping[str, str] | None = None, **template: Any
) -> KubernetesObject:
    """The VirtualMachine of a running VM, with what its template says about placement."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels or {})},
        "spec": {
            "runStrategy": "Always",
            "template": {"spec": {"domain": {"devices": {}}, **template}},
        },
    }


def drifted() -> Objects:
    """Pins by hand, a changed template, what a migration left, and VMs that are as Git has them."""
    here = {HOSTNAME: "node-a"}
    flux = {"kustomize.toolkit.fluxcd.io/name": "shop"}
    moved, launcher = vm("moved", on="node-b")
    left = changed(launcher, "spec", "nodeSelector", value={HOSTNAME: "node-b"})
    return [
        kubevirt(),
        *(node(name, zone="a") for name in ("node-a", "node-b")),
        vm("pinned", on="node-a", labels={"app": "pinned"}, node_selector=here),
        machine("pinned", labels=flux, nodeSelector=here),
        vm("meant", on="node-a", labels={"app": "meant"}, node_selector=here),
        machine("meant", nodeSelector=here),
        vm("changed", on="node-a"),
        machine("changed", nodeSelector={ZONE: "b"}),
        (moved, left),
        machine("moved"),
        vm("well", on="node-a", node_selector={ZONE: "a"}),
        machine("well", nodeSelector={ZONE: "a"}, evictionStrategy="LiveMigrate"),
    ]


def about_to_drain() -> Objects:
    """node-a leaves service soon; what runs there alone, or cannot leave it as a person expects."""

    def replica(name: str, on: str, *, of: str, namespace: str = "kubevirt") -> KubernetesObject:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": of, "controller": True}
        obj = pod(name, on=on, namespace=namespace, labels={"app": of})
        return changed(obj, "metadata", "ownerReferences", value=[owner])

    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "queue", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "queue"}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1},
    }
    roomy = {
        **budget,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 1},
    }
    return [
        *strategies(),
        replica("virt-api-1", "node-a", of="virt-api"),
        replica("virt-api-2", "node-a", of="virt-api"),
        replica("virt-controller-1", "node-a", of="virt-controller"),
        replica("virt-controller-2", "node-b", of="virt-controller"),
        replica("shop-1", "node-a", of="shop", namespace="default"),
        pod("queue-1", on="node-a", labels={"app": "queue"}),
        pod("web-1", on="node-a", labels={"app": "web"}),
        budget,
        roomy,
    ]


def tight() -> Objects:
    """Three nodes of 8Gi; two VMs of 3Gi on each of two, one of 3Gi on the third."""
    places = {
        "web-1": "node-a",
        "web-2": "node-b",
        "db-1": "node-a",
        "db-2": "node-b",
        "log": "node-c",
    }
    return [
        kubevirt(),
        *(node(f"node-{zone}", zone=zone, memory="8Gi") for zone in ("a", "b", "c")),
        *(
            vm(name, on=on, memory="3Gi", labels={"app": name.partition("-")[0]})
            for name, on in places.items()
        ),
        *(
            changed(
                machine(name), "spec", "runStrategy", value="Manual" if name == "log" else "Always"
            )
            for name in places
        ),
    ]


def tainted(name: str, key: str) -> KubernetesObject:
    """A node that somebody is about to empty."""
    return changed(node(name), "spec", "taints", value=[{"key": key, "effect": "PreferNoSchedule"}])


def left_alone() -> Objects:
    """As `loaded`; the owner of web keeps the descheduler away from it."""
    mark = {"descheduler.alpha.kubernetes.io/prefer-no-eviction": "true"}
    return [
        changed(item, "metadata", "annotations", value=mark)
        if item["kind"] == "Pod" and item["metadata"]["name"] == "virt-launcher-web"
        else item
        for item in flat(loaded())
    ]


def moved_by_others() -> Objects:
    """An evacuation, a workload update, a person's migration, gitbot's own, a descheduler."""
    updating = kubevirt()
    methods = {"workloadUpdateMethods": ["LiveMigrate"]}
    updating = changed(updating, "spec", "workloadUpdateStrategy", value=methods)
    updating = changed(updating, "status", "outdatedVirtualMachineInstanceWorkloads", value=3)
    outdated = {"kubevirt.io/outdatedLauncherImage": ""}

    def marked(number: str, vmi: str, mark: str) -> KubernetesObject:
        obj = evacuation(number, vmi=vmi, phase="Running")
        return changed(obj, "metadata", "annotations", value={mark: "node-a"} if mark else {})

    own = changed(
        marked("4", "d", ""), "metadata", "labels", value={"app.kubernetes.io/managed-by": "gitbot"}
    )
    return [
        updating,
        node("node-a", unschedulable=True),
        node("node-b"),
        tainted("node-c", "node.cluster.x-k8s.io/outdated-revision"),
        tainted("node-d", "UpdateInProgress"),
        *(vm(name, on="node-b", labels=outdated) for name in ("a", "b", "c")),
        vm("d", on="node-b"),
        vm("e", on="node-b", labels=outdated),
        marked("1", "a", "kubevirt.io/evacuationMigration"),
        marked("2", "b", "kubevirt.io/workloadUpdateMigration"),
        marked("3", "c", ""),
        own,
        evacuation("5", vmi="a", phase="Succeeded"),
        pod("descheduler-1", on="node-b", namespace="kube-system", labels={"app": "descheduler"}),
        {
            "apiVersion": "operator.openshift.io/v1",
            "kind": "KubeDescheduler",
            "metadata": {"name": "cluster", "namespace": "openshift-kube-descheduler-operator"},
            "spec": {
                "deschedulingIntervalSeconds": 60,
                "mode": "Automatic",
                "profiles": ["KubeVirtRelieveAndMigrate"],
            },
        },
    ]


_BUSY = pod("busy", on="node-b", cpu="2", memory="4Gi")

SMALL: Mapping[str, Callable[[], Objects]] = {
    "b02_limits_are_ignored/cluster.yaml": lambda: requests_only(_BUSY),
    "b02_limits_are_ignored/limits.yaml": lambda: requests_only(with_limits(_BUSY)),
    "b02_limits_are_ignored/requests.yaml": lambda: requests_only(
        pod("busy", on="node-b", cpu="3500m", memory="4Gi")
    ),
    "b03_requests_of_a_vm/cluster.yaml": stand_alone_machine,
    "b04_node_selector/cluster.yaml": lambda: ssd(both=True),
    "b04_node_selector/without.yaml": lambda: ssd(both=False),
    "b05_affinity_weights/cluster.yaml": wish,
    "b06_a_fourth_replica/cluster.yaml": lambda: databases("node-a", "node-b", "node-c", "node-c"),
    "b07_anchor_of_another/cluster.yaml": pair,
    "b07_pair_on_one_node/cluster.yaml": pair,
    "b08_hostname_key/cluster.yaml": lambda: databases("node-a", "node-b"),
    "b09_unlabelled_nodes/cluster.yaml": unlabelled,
    "b11_nothing_moved/cluster.yaml": relabelled,
    "b20_single_points/cluster.yaml": about_to_drain,
    "b31_pins_and_drift/cluster.yaml": drifted,
    "b15_soft_rule_missed/cluster.yaml": soft,
    "b18_not_migratable/cluster.yaml": not_migratable,
    "b22_colliding_selector/cluster.yaml": racks,
    "b24_last_in_the_queue/cluster.yaml": queued,
    "b30_limits_and_waves/cluster.yaml": foreign_migration,
    "b32_eleven_to_one_host/cluster.yaml": shop,
    "b34_preflight/cluster.yaml": preflight,
    "b43_eviction_strategies/cluster.yaml": strategies,
    "b49_source_does_not_answer/cluster.yaml": silent,
    "_clusters/crowded.yaml": loaded,
    "b41_opt_out_of_the_descheduler/cluster.yaml": left_alone,
    "b46_cpu_and_memory_weigh_the_same/equal.yaml": lambda: shares(20, 20, 20, 20),
    "b46_cpu_and_memory_weigh_the_same/less-memory.yaml": lambda: shares(20, 10, 20, 20),
    "b46_cpu_and_memory_weigh_the_same/crossed.yaml": lambda: shares(20, 10, 10, 20),
    "b47_admission_by_request/cluster.yaml": asks,
    "b50_worse_layout_after_a_crash/before.yaml": lambda: webs("node-a", "node-a", "node-b"),
    "b50_worse_layout_after_a_crash/after.yaml": lambda: webs("node-b", "node-b", "node-b"),
    "contradictory_rules/cluster.yaml": contradicted,
    "opt_outs/cluster.yaml": opted_out,
    "evens_out/cluster.yaml": uneven,
    "what_if/cluster.yaml": tight,
    "other_movers/cluster.yaml": moved_by_others,
    "s3_requests_not_usage/cluster.yaml": asks,
}


def flat(objects: Objects) -> list[KubernetesObject]:
    """Objects in one list; tuples, as `vm` gives them, are opened."""
    flattened: list[KubernetesObject] = []
    for item in objects:
        flattened += item if isinstance(item, tuple) else [item]
    return flattened
