// What KubeVirt makes of a VM with an instance type and a preference: the VMI that its VM
// controller creates, and the launcher pod of that VMI. See README.md beside this file.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	k8sv1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/cache"
	v1 "kubevirt.io/api/core/v1"
	"kubevirt.io/api/instancetype/v1beta1"

	"kubevirt.io/kubevirt/pkg/defaults"
	"kubevirt.io/kubevirt/pkg/instancetype/apply"
	preferenceapply "kubevirt.io/kubevirt/pkg/instancetype/preference/apply"
	netresources "kubevirt.io/kubevirt/pkg/network/resources"
	"kubevirt.io/kubevirt/pkg/network/vmispec"
	"kubevirt.io/kubevirt/pkg/testutils"
	"kubevirt.io/kubevirt/pkg/util"
	"kubevirt.io/kubevirt/pkg/virt-controller/services"
	"kubevirt.io/kubevirt/pkg/virt-controller/watch/vm"
)

type scenario struct {
	Name         string                                  `json:"name"`
	VM           v1.VirtualMachine                       `json:"vm"`
	Instancetype *v1beta1.VirtualMachineInstancetypeSpec `json:"instancetype,omitempty"`
	Preference   *v1beta1.VirtualMachinePreferenceSpec   `json:"preference,omitempty"`
	Settings     v1.KubeVirtConfiguration                `json:"settings"`
}

type outcome struct {
	Name      string                         `json:"name"`
	Conflicts []string                       `json:"conflicts,omitempty"`
	Failed    string                         `json:"failed,omitempty"`
	Spec      *v1.VirtualMachineInstanceSpec `json:"spec,omitempty"`
	Pod       *k8sv1.Pod                     `json:"pod,omitempty"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var asked scenario
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := out.Encode(play(asked)); err != nil {
			panic(err)
		}
	}
	if err := in.Err(); err != nil {
		panic(err)
	}
}

// play is what startVMI of the VM controller, the mutating webhook of VMIs and the VMI controller do.
func play(asked scenario) (said outcome) {
	said.Name = asked.Name
	defer func() {
		if problem := recover(); problem != nil {
			said = outcome{Name: asked.Name, Failed: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	config, _, _ := testutils.NewFakeClusterConfigUsingKVConfig(&asked.Settings)
	vmi := instance(&asked.VM)
	util.SetDefaultVolumeDisk(&vmi.Spec)
	if asked.Preference != nil {
		preferenceapply.ApplyAutoAttachPreferences(asked.Preference, &vmi.Spec)
	}
	vm.AutoAttachInputDevice(vmi)
	if err := vmispec.SetDefaultNetworkInterface(config, &vmi.Spec); err != nil {
		said.Failed = err.Error()
		return said
	}
	path := field.NewPath("spec", "template", "spec")
	conflicts := apply.NewVMIApplier().ApplyToVMI(
		path, asked.Instancetype, asked.Preference, &vmi.Spec, &vmi.ObjectMeta)
	for _, conflict := range conflicts {
		said.Conflicts = append(said.Conflicts, conflict.String())
	}
	if len(conflicts) > 0 {
		return said
	}
	said.Spec = vmi.Spec.DeepCopy()
	if err := defaults.SetDefaultVirtualMachineInstance(config, vmi); err != nil {
		said.Failed = err.Error()
		return said
	}
	store := func() cache.Store { return cache.NewStore(cache.MetaNamespaceKeyFunc) }
	namespaces := store()
	_ = namespaces.Add(&k8sv1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: vmi.Namespace}})
	service := services.NewTemplateService(
		"launcher", 240, "/var/run/kubevirt", "/var/run/kubevirt-ephemeral-disks",
		"/var/run/kubevirt/container-disks", v1.HotplugDiskDir, "", store(), nil, config, 107,
		"export", store(), namespaces,
		services.WithNetMemoryCalculator(netresources.MemoryCalculator{}))
	pod, err := service.RenderLaunchManifest(vmi)
	if err != nil {
		said.Failed = err.Error()
		return said
	}
	said.Pod = pod
	return said
}

func instance(machine *v1.VirtualMachine) *v1.VirtualMachineInstance {
	vmi := v1.NewVMIReferenceFromNameWithNS(machine.Namespace, machine.Name)
	vmi.ObjectMeta = *machine.Spec.Template.ObjectMeta.DeepCopy()
	vmi.Name, vmi.Namespace, vmi.UID = machine.Name, machine.Namespace, "vmi"
	vmi.Spec = *machine.Spec.Template.Spec.DeepCopy()
	return vmi
}
