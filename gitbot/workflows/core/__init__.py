"""What every workflow begins with: revision, engine, current state, judged plan."""
