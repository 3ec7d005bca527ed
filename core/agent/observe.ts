import { nodeReady } from "../cluster/kubernetes_facts.ts";
import { type HostFacts, openOsReader, readHostFacts } from "../host/facts.ts";
import type { BootedImage } from "../ports/boot.ts";
import type { UnitState } from "../ports/systemd.ts";
import { K3S_PROGRAM, K3S_UNIT } from "../state/paths.ts";
import type { BoundContext } from "./context.ts";
import { readClusterUid } from "./custody.ts";

/** What the node shows now. */
export interface Observation {
  readonly host: HostFacts;
  readonly booted: BootedImage;
  readonly k3sVersion: string | null;
  readonly k3sUnit: UnitState;
  /** `/readyz` of the Kubernetes API answers 200. */
  readonly apiUp: boolean;
  /** kube-system's UID; null while the API is down or does not give it. */
  readonly kubeSystemUid: string | null;
  /** This node's Ready condition; null while the API is down or knows no such Node. */
  readonly nodeReady: boolean | null;
}

/** Looks at the node. What is asked of it every cycle is cheap; what is not is asked once. */
export interface Observer {
  observe(context: BoundContext): Promise<Observation>;
}

/** A fresh observer. */
export function openObserver(): Observer {
  const osRelease = openOsReader();
  let booted: Promise<BootedImage> | null = null;
  let k3s: { readonly file: string; readonly version: string | null } | null = null;

  /** Starting k3s only to hear its version costs more than all the rest: once per file. */
  async function k3sVersion({ ports }: BoundContext): Promise<string | null> {
    const stat = await ports.disk.stat(K3S_PROGRAM);
    if (!stat.ok || stat.value === null) return null;
    const file = `${stat.value.size} ${stat.value.modifiedAt}`;
    if (k3s?.file === file) return k3s.version;
    const version = await ports.k3s.version();
    // A failure is asked again: the program may just be in the middle of being replaced.
    if (version.ok) k3s = { file, version: version.value };
    return version.ok ? version.value : null;
  }

  return {
    async observe(context) {
      const { ports, binding } = context;
      booted ??= ports.boot.booted();
      const [host, image, version, unit, apiUp] = await Promise.all([
        readHostFacts(ports, osRelease),
        booted,
        k3sVersion(context),
        ports.systemd.unitState(K3S_UNIT),
        ports.k8s.ready(),
      ]);
      const [uid, ready] = apiUp
        ? await Promise.all([readClusterUid(ports.k8s), readNodeReady(context, binding.node_name)])
        : [null, null];
      return {
        host,
        booted: image,
        k3sVersion: version,
        k3sUnit: unit,
        apiUp,
        kubeSystemUid: uid?.ok === true ? uid.value : null,
        nodeReady: ready,
      };
    },
  };
}

async function readNodeReady({ ports }: BoundContext, name: string): Promise<boolean | null> {
  const node = await ports.k8s.get({ apiVersion: "v1", resource: "nodes", name });
  return node.ok && node.value !== null ? nodeReady(node.value) : null;
}
