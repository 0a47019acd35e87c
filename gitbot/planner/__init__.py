"""PlacementProblem to PlacementPlan. Knows constraints and goals, never intents."""
