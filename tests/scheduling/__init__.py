"""gitbot's verdicts against kube-scheduler's: random scenarios, the oracle, recorded vectors."""
