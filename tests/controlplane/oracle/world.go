package main

import (
	"context"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

type world struct {
	scenario *Scenario
	cluster  *cluster
	refused  map[string]string
	snapshot *cache.Snapshot
	nodes    []fwk.NodeInfo
	profile  framework.Framework
	plugins  map[string]fwk.Plugin // every plugin of the profile by name
	filters  []string              // in the order in which they run
	scorers  []string
	weights  map[string]int64
}

func newWorld(scenario *Scenario) (*world, error) {
	found, err := decodeCluster(scenario)
	if err != nil {
		return nil, err
	}
	w := &world{scenario: scenario, cluster: found}
	if scenario.Admit {
		if w.refused, err = found.admit(context.Background()); err != nil {
			return nil, err
		}
	}
	return w, w.build(context.Background())
}

func (w *world) build(ctx context.Context) error {
	active := []*v1.Pod{}
	known := map[string]bool{}
	for _, node := range w.cluster.nodes {
		known[node.Name] = true
	}
	for _, pod := range w.cluster.placed {
		finished := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if !finished && known[pod.Spec.NodeName] {
			active = append(active, pod)
		}
	}
	w.snapshot = cache.NewSnapshot(active, w.cluster.nodes)
	for _, node := range w.cluster.nodes {
		info, err := w.snapshot.Get(node.Name)
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, info)
	}
	objects := append([]runtime.Object{}, w.cluster.others...)
	for _, node := range w.cluster.nodes {
		objects = append(objects, node)
	}
	for _, pod := range append(active, w.cluster.waiting...) {
		objects = append(objects, pod)
	}
	return w.buildProfile(ctx, objects)
}

func (w *world) buildProfile(ctx context.Context, objects []runtime.Object) error {
	factory, err := staticFactory(objects)
	if err != nil {
		return err
	}
	client := fake.NewClientset()
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx),
		factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{
		EnableDeviceTaintRules:   false,
		EnableConsumableCapacity: feature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            factory.Resource().V1().ResourceSlices(),
		KubeClient:               client,
	})
	if err != nil {
		return err
	}
	profile, err := w.defaultProfile()
	if err != nil {
		return err
	}
	w.plugins = map[string]fwk.Plugin{}
	w.profile, err = frameworkruntime.NewFramework(ctx, w.registry(), profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(dynamicresources.NewDRAManager(ctx, claims, slices, factory)),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(w.snapshot),
		frameworkruntime.WithPodNominator(newNominator(w.cluster.waiting)),
		frameworkruntime.WithParallelism(1),
	)
	if err != nil {
		return err
	}
	w.weights = map[string]int64{}
	listed := w.profile.ListPlugins()
	for _, plugin := range listed.Filter.Enabled {
		w.filters = append(w.filters, plugin.Name)
	}
	for _, plugin := range listed.Score.Enabled {
		w.scorers = append(w.scorers, plugin.Name)
		w.weights[plugin.Name] = int64(plugin.Weight)
	}
	return nil
}

// defaultProfile is what kube-scheduler runs without a configuration.
func (w *world) defaultProfile() (*config.KubeSchedulerProfile, error) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	whole := config.KubeSchedulerConfiguration{}
	if err := scheme.Scheme.Convert(&versioned, &whole, nil); err != nil {
		return nil, err
	}
	profile := &whole.Profiles[0]
	for _, entry := range profile.PluginConfig {
		if args, ok := entry.Args.(*config.NodeResourcesFitArgs); ok && w.scenario.Strategy != "" {
			args.ScoringStrategy.Type = config.ScoringStrategyType(w.scenario.Strategy)
		}
	}
	return profile, nil
}

// registry is the in-tree one; it remembers each plugin that it makes.
func (w *world) registry() frameworkruntime.Registry {
	remembering := frameworkruntime.Registry{}
	for name, factory := range plugins.NewInTreeRegistry() {
		remembering[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, args, handle)
			w.plugins[name] = plugin
			return plugin, err
		}
	}
	return remembering
}

// nominator knows the pods that wait with a nominated node, as the scheduling queue does.
type nominator struct {
	fwk.PodNominator
	byNode map[string][]fwk.PodInfo
}

func newNominator(waiting []*v1.Pod) *nominator {
	found := &nominator{byNode: map[string][]fwk.PodInfo{}}
	sorted := append([]*v1.Pod{}, waiting...)
	sort.Slice(sorted, func(i, j int) bool { return key(sorted[i]) < key(sorted[j]) })
	for _, pod := range sorted {
		if node := pod.Status.NominatedNodeName; node != "" {
			info, err := framework.NewPodInfo(pod)
			if err == nil {
				found.byNode[node] = append(found.byNode[node], info)
			}
		}
	}
	return found
}

func (n *nominator) NominatedPodsForNode(node string) []fwk.PodInfo {
	return n.byNode[node]
}

func (w *world) filter(name string) (fwk.FilterPlugin, error) {
	plugin, ok := w.plugins[name].(fwk.FilterPlugin)
	if !ok {
		return nil, fmt.Errorf("%s is no filter", name)
	}
	return plugin, nil
}
