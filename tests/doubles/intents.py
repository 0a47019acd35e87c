"""What many stories write: a configuration, a rule for the databases, a request for the jumpbox."""

HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
CONFIGURATION = f"""\
{HEAD}kind: Configuration
metadata: {{name: default}}
spec:
  clusters:
  - name: CLUSTER
    timeZone: Europe/Madrid
  proposals: {{stabilize: PT0S}}
  mode: Enforce
"""
RULE = f"""\
{HEAD}kind: ZoneAntiAffinity
metadata: {{name: mssql2016, namespace: customapp}}
spec:
  selector: {{matchLabels: {{kubevirt.io/domain: mssql2016}}}}
"""
REQUEST = f"""\
{HEAD}kind: MigrationRequest
metadata: {{name: jump, namespace: customapp}}
spec:
  vms: {{names: [jumpbox]}}
  target: {{node: kni-worker5}}
  reason: Maintenance
"""
