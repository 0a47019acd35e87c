package main

import (
	"encoding/json"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Scenario is one line of input.
type Scenario struct {
	Name string `json:"name"`
	// Objects are plain API objects: the cluster, placed pods included.
	Objects []json.RawMessage `json:"objects"`
	// Judge holds the pods to judge, each alone against the same cluster.
	Judge []json.RawMessage `json:"judge"`
	// Admit lets every pod pass the API server's defaulting, admission and validation first.
	Admit bool `json:"admit"`
	// Strategy of NodeResourcesFit: LeastAllocated where it is empty, or MostAllocated.
	Strategy string `json:"strategy"`
}

// Result is one line of output.
type Result struct {
	Name string `json:"name"`
	// Refused maps namespace/name of a pod to why the API server would not store it.
	Refused map[string]string `json:"refused,omitempty"`
	// Placed and Judged are the pods as the API server stores them; only after admission.
	Placed  []*v1.Pod `json:"placed,omitempty"`
	Judged  []*v1.Pod `json:"judged,omitempty"`
	Results []Verdict `json:"results"`
}

// Verdict is what kube-scheduler says of one pod.
type Verdict struct {
	Pod string `json:"pod"`
	// Whole is set where the pod is refused before any node is looked at.
	Whole *Rejection `json:"whole,omitempty"`
	// Rejected maps a node to the first plugin that rejects it; other nodes are feasible.
	Rejected map[string]Rejection `json:"rejected,omitempty"`
	Feasible []string             `json:"feasible"`
	// Raw and Normalised map a plugin to scores in the order of Feasible, before weights; an
	// absent plugin was skipped. Only with two or more feasible nodes.
	Raw        map[string][]int64 `json:"raw,omitempty"`
	Normalised map[string][]int64 `json:"normalised,omitempty"`
	Total      []int64            `json:"total,omitempty"`
	// Error: the cycle fails. ScoreError: it fails while scoring, Feasible is still right.
	Error      string `json:"error,omitempty"`
	ScoreError string `json:"scoreError,omitempty"`
}

// Rejection names the plugin that says no; All lists every one where there are more.
type Rejection struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
	All     []string `json:"all,omitempty"`
}

type cluster struct {
	nodes          []*v1.Node
	placed         []*v1.Pod
	waiting        []*v1.Pod
	judged         []*v1.Pod
	runtimeClasses map[string]*nodev1.RuntimeClass
	others         []runtime.Object
}

func decodeCluster(scenario *Scenario) (*cluster, error) {
	found := &cluster{runtimeClasses: map[string]*nodev1.RuntimeClass{}}
	for _, raw := range scenario.Objects {
		object, err := decode(raw)
		if err != nil {
			return nil, err
		}
		switch typed := object.(type) {
		case *v1.Node:
			found.nodes = append(found.nodes, typed)
		case *v1.Pod:
			if typed.Spec.NodeName != "" {
				found.placed = append(found.placed, typed)
			} else {
				found.waiting = append(found.waiting, typed)
			}
		case *nodev1.RuntimeClass:
			found.runtimeClasses[typed.Name] = typed
		default:
			found.others = append(found.others, object)
		}
	}
	for _, raw := range scenario.Judge {
		object, err := decode(raw)
		if err != nil {
			return nil, err
		}
		pod, ok := object.(*v1.Pod)
		if !ok {
			return nil, fmt.Errorf("judge holds a %T, expected a Pod", object)
		}
		found.judged = append(found.judged, pod)
	}
	sort.Slice(found.nodes, func(i, j int) bool { return found.nodes[i].Name < found.nodes[j].Name })
	return found, nil
}

func decode(raw []byte) (runtime.Object, error) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	return object, err
}
