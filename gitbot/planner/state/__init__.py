"""The state that the planner changes: places of VMs, choices, undo."""
