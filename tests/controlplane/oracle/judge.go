package main

import (
	"context"
	"fmt"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func (w *world) judge(ctx context.Context) (*Result, error) {
	result := &Result{Name: w.scenario.Name, Refused: w.refused, Results: []Verdict{}}
	if w.scenario.Admit {
		result.Placed = append(append(result.Placed, w.cluster.placed...), w.cluster.waiting...)
		result.Judged = w.cluster.judged
	}
	for _, pod := range w.cluster.judged {
		verdict, err := w.judgePod(ctx, pod)
		if err != nil {
			return nil, err
		}
		result.Results = append(result.Results, *verdict)
	}
	return result, nil
}

func (w *world) judgePod(ctx context.Context, pod *v1.Pod) (*Verdict, error) {
	verdict := &Verdict{Pod: key(pod), Feasible: []string{}, Rejected: map[string]Rejection{}}
	state := framework.NewCycleState()
	allowed, status, pruning := w.profile.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			verdict.Error = status.Message()
			return verdict, nil
		}
		rejection := rejectionOf(status)
		verdict.Whole = &rejection
		return verdict, nil
	}
	feasible := []fwk.NodeInfo{}
	for _, node := range w.nodes {
		name := node.Node().Name
		if !allowed.AllNodes() && !allowed.NodeNames.Has(name) {
			verdict.Rejected[name] = prunedBy(sets.List(pruning))
			continue
		}
		status := w.profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.IsSuccess() {
			feasible = append(feasible, node)
			verdict.Feasible = append(verdict.Feasible, name)
			continue
		}
		if !status.IsRejected() {
			verdict.Error = status.Message()
			return verdict, nil
		}
		verdict.Rejected[name] = rejectionOf(status)
	}
	if err := w.nameAll(ctx, state, pod, verdict); err != nil {
		return nil, err
	}
	if len(feasible) > 1 {
		w.score(ctx, state, pod, feasible, verdict)
	}
	return verdict, nil
}

// prunedBy is the rejection of a node that PreFilter left out; the scheduler's own has no plugin.
func prunedBy(plugins []string) Rejection {
	reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", plugins)
	return Rejection{Plugin: strings.Join(plugins, ","), Code: "unresolvable", Reasons: []string{reason}}
}

func rejectionOf(status *fwk.Status) Rejection {
	code := "unschedulable"
	if status.Code() == fwk.UnschedulableAndUnresolvable {
		code = "unresolvable"
	}
	reasons := append([]string{}, status.Reasons()...)
	sort.Strings(reasons)
	return Rejection{Plugin: status.Plugin(), Code: code, Reasons: reasons}
}

// nameAll asks every filter about the nodes that are rejected: the scheduler stops at the first.
func (w *world) nameAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, verdict *Verdict) error {
	for _, node := range w.nodes {
		name := node.Node().Name
		rejection, ok := verdict.Rejected[name]
		if !ok {
			continue
		}
		all := []string{}
		for _, filter := range w.filters {
			if state.GetSkipFilterPlugins().Has(filter) {
				continue
			}
			plugin, err := w.filter(filter)
			if err != nil {
				return err
			}
			rejects, err := w.rejects(ctx, plugin, state, pod, node)
			if err != nil {
				return err
			}
			if rejects {
				all = append(all, filter)
			}
		}
		if len(all) != 1 || all[0] != rejection.Plugin {
			rejection.All = all
			verdict.Rejected[name] = rejection
		}
	}
	return nil
}

// rejects asks one filter with the pods that are nominated for the node, then without them.
func (w *world) rejects(ctx context.Context, plugin fwk.FilterPlugin, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (bool, error) {
	if plugin.Filter(ctx, state, pod, node).IsRejected() {
		return true, nil
	}
	waiting := w.profile.NominatedPodsForNode(node.Node().Name)
	crowdedNode, crowdedState := node.Snapshot(), state.Clone()
	for _, other := range waiting {
		if corev1.PodPriority(other.GetPod()) < corev1.PodPriority(pod) || other.GetPod().UID == pod.UID {
			continue
		}
		crowdedNode.AddPodInfo(other)
		if status := w.profile.RunPreFilterExtensionAddPod(ctx, crowdedState, pod, other, crowdedNode); !status.IsSuccess() {
			return false, status.AsError()
		}
	}
	return len(waiting) > 0 && plugin.Filter(ctx, crowdedState, pod, crowdedNode).IsRejected(), nil
}

func (w *world) score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, verdict *Verdict) {
	if status := w.profile.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		verdict.ScoreError = status.Message()
		return
	}
	scores, status := w.profile.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		verdict.ScoreError = status.Message()
		return
	}
	verdict.Raw, verdict.Normalised = map[string][]int64{}, map[string][]int64{}
	for _, name := range w.scorers {
		plugin, ok := w.plugins[name].(fwk.ScorePlugin)
		if !ok || state.GetSkipScorePlugins().Has(name) {
			continue
		}
		for _, node := range nodes {
			raw, status := plugin.Score(ctx, state, pod, node)
			if status.IsSuccess() {
				verdict.Raw[name] = append(verdict.Raw[name], raw)
			}
		}
	}
	for _, score := range scores {
		verdict.Total = append(verdict.Total, score.TotalScore)
		for _, part := range score.Scores {
			verdict.Normalised[part.Name] = append(verdict.Normalised[part.Name], part.Score/w.weights[part.Name])
		}
	}
}
