"""What an administrator applies: rights, the Deployment, rulesets."""
