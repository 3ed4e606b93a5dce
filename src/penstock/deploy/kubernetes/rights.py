"""Who may do what: the accounts of driver and executors, who may connect to the driver, how nodes are drained."""

from __future__ import annotations

from penstock.deploy.deployment import Deployment
from penstock.deploy.kubernetes.objects import BLOCKS_PORT, DRIVER_PORT, Manifest, labels, object_of


def accounts(deployment: Deployment, on_cluster: bool) -> list[Manifest]:
    """The identity of the driver; on a cluster with the rights that Spark uses, and an executors' one with none."""
    name = deployment.name
    driver = object_of(deployment, "v1", "ServiceAccount", name, automountServiceAccountToken=on_cluster)
    if not on_cluster:
        return [driver]
    executor = object_of(deployment, "v1", "ServiceAccount", f"{name}-executor", automountServiceAccountToken=False)
    rules = [
        {"apiGroups": [""], "resources": [resource], "verbs": verbs}
        for resource, verbs in (
            ("pods", ["create", "delete", "deletecollection", "get", "list", "patch", "watch"]),
            ("configmaps", ["create", "deletecollection"]),
            ("services", ["deletecollection"]),
            ("persistentvolumeclaims", ["deletecollection", "list"]),
        )
    ]
    role = object_of(deployment, "rbac.authorization.k8s.io/v1", "Role", name, rules=rules)
    binding = object_of(
        deployment,
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        name,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": name}],
    )
    return [driver, executor, role, binding]


def network_policy(deployment: Deployment) -> Manifest:
    """Only this pipeline's executors may open a connection to its driver."""
    return object_of(
        deployment,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        deployment.name,
        spec={
            "podSelector": {"matchLabels": labels(deployment, "driver")},
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "from": [{"podSelector": {"matchLabels": labels(deployment, "executor")}}],
                    "ports": [{"port": port, "protocol": "TCP"} for port in (DRIVER_PORT, BLOCKS_PORT)],
                }
            ],
        },
    )


def disruption_budget(deployment: Deployment) -> Manifest:
    """Nodes are drained one executor at a time. The driver may be evicted: it stops after its batch."""
    return object_of(
        deployment,
        "policy/v1",
        "PodDisruptionBudget",
        f"{deployment.name}-executor",
        spec={"maxUnavailable": 1, "selector": {"matchLabels": labels(deployment, "executor")}},
    )
