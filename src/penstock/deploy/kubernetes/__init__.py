"""Manifests for Kubernetes: the driver, and on `k8s://` what its executors need."""
