package main

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	genericfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	registry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
)

var tolerationPlugin = newTolerationPlugin()

func newTolerationPlugin() *defaulttolerationseconds.Plugin {
	plugin := defaulttolerationseconds.NewDefaultTolerationSeconds()
	plugin.InspectFeatureGates(genericfeature.DefaultFeatureGate)
	return plugin
}

// admit lets all pods pass what kube-apiserver does to a new pod that matters for scheduling:
// defaults, RuntimeClass overhead, default tolerations, the pod strategy (matchLabelKeys) and
// validation; placed ones get the topology labels of their node. Pods that are refused leave.
func (c *cluster) admit(ctx context.Context) (map[string]string, error) {
	refused := map[string]string{}
	for _, list := range []*[]*v1.Pod{&c.placed, &c.waiting, &c.judged} {
		kept := []*v1.Pod{}
		for _, pod := range *list {
			stored, reason, err := c.admitPod(ctx, pod)
			if err != nil {
				return nil, err
			}
			if reason != "" {
				refused[pod.Namespace+"/"+pod.Name] = reason
				continue
			}
			kept = append(kept, stored)
		}
		*list = kept
	}
	return refused, nil
}

func (c *cluster) admitPod(ctx context.Context, pod *v1.Pod) (*v1.Pod, string, error) {
	status, meta := pod.Status.DeepCopy(), pod.ObjectMeta.DeepCopy()
	pod = pod.DeepCopy()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	c.addOverhead(pod)
	corev1.SetObjectDefaults_Pod(pod)
	internal := &api.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, internal, nil); err != nil {
		return nil, "", err
	}
	attributes := admission.NewAttributesRecord(internal, nil, api.Kind("Pod").WithVersion("v1"),
		pod.Namespace, pod.Name, api.Resource("pods").WithVersion("v1"), "", admission.Create,
		&metav1.CreateOptions{}, false, nil)
	if err := tolerationPlugin.Admit(ctx, attributes, nil); err != nil {
		return nil, "", err
	}
	c.addTopologyLabels(internal)
	registry.Strategy.PrepareForCreate(ctx, internal)
	if found := registry.Strategy.Validate(ctx, internal); len(found) > 0 {
		return nil, found.ToAggregate().Error(), nil
	}
	stored := &v1.Pod{}
	if err := legacyscheme.Scheme.Convert(internal, stored, nil); err != nil {
		return nil, "", err
	}
	stored.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	stored.Status = *status
	stored.DeletionTimestamp = meta.DeletionTimestamp
	stored, err := reread(stored)
	return stored, "", err
}

// reread gives the pod as kube-scheduler receives it: amounts in memory may share parts until then.
func reread(pod *v1.Pod) (*v1.Pod, error) {
	raw, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	object, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return object.(*v1.Pod), nil
}

func (c *cluster) addOverhead(pod *v1.Pod) {
	if pod.Spec.RuntimeClassName == nil {
		return
	}
	class := c.runtimeClasses[*pod.Spec.RuntimeClassName]
	if class != nil && class.Overhead != nil {
		pod.Spec.Overhead = class.Overhead.PodFixed
	}
}

func (c *cluster) addTopologyLabels(pod *api.Pod) {
	for _, node := range c.nodes {
		if node.Name != pod.Spec.NodeName {
			continue
		}
		for _, key := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion} {
			if value, ok := node.Labels[key]; ok {
				if pod.Labels == nil {
					pod.Labels = map[string]string{}
				}
				pod.Labels[key] = value
			}
		}
	}
}

func key(pod *v1.Pod) string {
	return fmt.Sprintf("%s/%s", pod.Namespace, pod.Name)
}
