"""The values that every workflow starts with: revision, engine, current state, judged plan."""
