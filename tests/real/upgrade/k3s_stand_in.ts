import { startFakeK8sServer } from "../../../adapters/fake/k8s_server.ts";
import type { FakeK8sServer } from "../../../adapters/fake/k8s_server.ts";
import { FIRST_KUBE_SYSTEM_UID } from "../../../adapters/fake/k3s_script.ts";
import { snapshotBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import type { InitrdFile } from "../../lab/vm/initrd.ts";
import type { StateFile } from "../../lab/vm/state_partition.ts";

/** k3s in the node's first image, and in every later one. */
export const FIRST_K3S_VERSION = "v1.36.3+k3s1";
export const NEW_K3S_VERSION = "v1.36.4+k3s1";

/** Where the state partition has what the stand-in needs. */
const HOME = "/var/lib/lab-k3s";

/** A cluster for one machine: the fake API on the host, up while the stand-in in the machine is. */
export interface ClusterBeside {
  readonly api: FakeK8sServer;
  /** What the state partition has to hold. */
  readonly files: readonly StateFile[];
  /** Versions of k3s that have started so far, oldest first. */
  readonly started: readonly string[];
  /** Takes every line of the machine's console, which is how the stand-in is heard. */
  hear(line: string): void;
  stop(): Promise<void>;
}

const FIELD_MANAGER = "k3s";

/**
 * Starts the API of a cluster whose k3s is a stand-in: the API is ready, and its Node too, from when the
 * machine's k3s says that it starts to when it says that it ends, or the machine boots anew.
 */
export function startClusterBeside(nodeName: string): ClusterBeside {
  const api = startFakeK8sServer();
  api.setReady(false);
  api.installK3sDefinitions();
  api.write("/apis/apps/v1/namespaces/kube-system/deployments/coredns", DEPLOYMENT, FIELD_MANAGER);
  const started: string[] = [];
  const files: StateFile[] = [
    { path: `${HOME.slice(1)}/k3s.yaml`, text: api.kubeconfig, mode: 0o600 },
    { path: `${HOME.slice(1)}/node-name`, text: `${nodeName}\n` },
    { path: `${HOME.slice(1)}/snapshot`, text: snapshotBytes({ texts: [FIRST_KUBE_SYSTEM_UID] }) },
  ];
  return {
    api,
    files,
    started,
    hear(line) {
      const [, version, bootId] = /k3s\[\d+\]: starts as (\S+) in (\S+)$/.exec(line) ?? [];
      if (version !== undefined && bootId !== undefined) {
        started.push(version);
        api.write(`/api/v1/nodes/${nodeName}`, nodeOf(nodeName, version, bootId), FIELD_MANAGER);
        api.setReady(true);
      }
      if (/^---- boot |k3s\[\d+\]: ends$/.test(line)) api.setReady(false);
    },
    stop: async () => await api.stop(),
  };
}

const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "coredns", namespace: "kube-system", generation: 1 },
  spec: { replicas: 1 },
  status: {
    observedGeneration: 1,
    replicas: 1,
    readyReplicas: 1,
    updatedReplicas: 1,
    availableReplicas: 1,
    conditions: [{ type: "Available", status: "True" }],
  },
};

function nodeOf(name: string, kubeletVersion: string, bootID: string) {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    spec: {},
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      nodeInfo: { kubeletVersion, bootID },
    },
  };
}

/** The stand-in and its unit, as the image brings them. `broken`: it never gets ready. */
export function k3sFiles(version: string, broken: boolean): InitrdFile[] {
  return [
    { path: "usr/local/bin/k3s", text: script(version, broken), executable: true },
    { path: "usr/lib/systemd/system/k3s.service", text: UNIT },
  ];
}

const UNIT = `[Unit]
Description=Lightweight Kubernetes, a stand-in
After=network-online.target

[Service]
Type=exec
ExecStart=/usr/local/bin/k3s server
Restart=always
RestartSec=5s

[Install]
WantedBy=multi-user.target
`;

function script(version: string, broken: boolean): string {
  return `#!/bin/sh
snapshots=/var/lib/rancher/k3s/server/db/snapshots
case $1 in
  --version)
    echo "k3s version ${version} (866d743e)"
    echo "go version go1.26.8" ;;
  etcd-snapshot)
    file=$4-$(cat ${HOME}/node-name)-$(date +%s)
    mkdir -p $snapshots && cp ${HOME}/snapshot $snapshots/$file &&
      echo "level=info msg=\\"Snapshot $file saved.\\"" >&2 ;;
  server)
    ${broken ? 'echo "this build does not start" >&2; exit 1' : ""}
    mkdir -p /etc/rancher/k3s
    cp ${HOME}/k3s.yaml /etc/rancher/k3s/k3s.yaml
    trap 'echo ends; exit 0' TERM
    echo "starts as ${version} in $(cat /proc/sys/kernel/random/boot_id)"
    sleep 1000000 &
    wait ;;
  *)
    echo "k3s: a stand-in that does not know this" >&2
    exit 1 ;;
esac
`;
}
