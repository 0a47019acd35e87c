"""MigrationRequest, a kind of intent."""
