"""Files with which other programs run a pipeline: manifests of Kubernetes, a unit of systemd, a workflow of GitHub."""
