import { join } from "node:path";
import type { KubeApi } from "./kube_api.ts";
import { startLabProcess } from "./lab_process.ts";
import { findPart } from "./parts.ts";

/** Controllers of Kubernetes beside a lab's API server. */
export interface KubeControllers {
  stop(): Promise<void>;
}

/** What makes roles whole, and gives every namespace its ServiceAccount and the certificate authority. */
const CONTROLLERS = [
  "clusterrole-aggregation-controller",
  "root-ca-certificate-publisher-controller",
  "serviceaccount-controller",
  "namespace-controller",
];

/**
 * Starts the controllers that roles, accounts and namespaces need, and `more`; they run until they are
 * stopped.
 */
export async function startKubeControllers(
  api: KubeApi,
  more: readonly string[] = [],
): Promise<KubeControllers> {
  const program = await findPart("kube-controller-manager");
  const directory = await Deno.makeTempDir({ prefix: "pbx-kube-controllers-" });
  const authority = join(directory, "ca.crt");
  await Deno.writeTextFile(authority, api.authority.cert);
  const process = startLabProcess(program, [
    `--kubeconfig=${api.kubeconfig}`,
    `--controllers=${[...CONTROLLERS, ...more].join(",")}`,
    `--root-ca-file=${authority}`,
    "--leader-elect=false",
    "--secure-port=0",
  ], { cwd: directory });
  return {
    async stop() {
      await process.stop();
      await Deno.remove(directory, { recursive: true });
    },
  };
}
