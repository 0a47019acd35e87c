"""MaintenanceWindow, a kind of intent."""
