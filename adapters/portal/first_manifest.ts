const CLOUD_CONTROLLER = `apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata:
  name: hcloud-cloud-controller-manager
  namespace: kube-system
spec:
  repo: https://charts.hetzner.cloud
  chart: hcloud-cloud-controller-manager
  version: 1.30.0
  targetNamespace: kube-system
  bootstrap: true
  failurePolicy: abort
  backOffLimit: 5
  valuesContent: |
    networking:
      enabled: true
`;

/** The first-start manifest of a new cluster. The first release signs its hash (trust.md T3). */
export const FIRST_MANIFEST = {
  name: "hcloud-cloud-controller-manager",
  content: CLOUD_CONTROLLER,
} as const;
