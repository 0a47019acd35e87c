"""Plan to manifests through Jinja2 templates given as texts."""
