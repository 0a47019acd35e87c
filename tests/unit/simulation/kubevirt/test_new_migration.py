from gitbot.simulation.kubevirt.new_migration import new_migration


def test_it_says_which_vm_and_nothing_else() -> None:
    assert new_migration(namespace="shop", vmi_name="db-1") == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"namespace": "shop"},
        "spec": {"vmiName": "db-1"},
    }


def test_an_empty_selector_is_left_out() -> None:
    pinned = {"kubernetes.io/hostname": "n2"}
    made = new_migration(namespace="shop", vmi_name="db-1", added_node_selector=pinned)
    assert made["spec"] == {"vmiName": "db-1", "addedNodeSelector": pinned}
    made = new_migration(namespace="shop", vmi_name="db-1", added_node_selector={})
    assert made["spec"] == {"vmiName": "db-1"}
