import { createHash } from "node:crypto";
import type { FakeDisk } from "../../adapters/fake/disk.ts";
import { CONFIG_FILE, K3S_PROGRAM, PROGRAM_FILE } from "../../core/state/paths.ts";
import type { NodeName } from "./node_name.ts";
import { programOf } from "./program.ts";

/** How a machine is delivered. */
export interface Delivered {
  /** The portal's domain or base URL, as the configuration has it. */
  readonly portal: string;
  /** Of the agent's program. */
  readonly version: string;
  /** What proves the portal's answers, base64; none: they need no proof. */
  readonly portalKeys?: readonly string[];
}

/** The files of a machine as it is delivered: the image's, and what cloud-init wrote. */
export function layOut(
  disk: FakeDisk,
  name: NodeName,
  { portal, version, portalKeys = [] }: Delivered,
): void {
  const config = [
    `portal: ${portal}`,
    `cluster_id: ${name.clusterId}`,
    `node_name: ${name.nodeName}`,
    `enrollment_token: ${name.token}`,
    ...(portalKeys.length === 0 ? [] : [`portal_keys: [${portalKeys.join(", ")}]`]),
    "",
  ].join("\n");
  disk.put(CONFIG_FILE, config);
  disk.put(PROGRAM_FILE, programOf(version).bytes, 0o755);
  disk.put(K3S_PROGRAM, "k3s", 0o755);
  disk.put("/etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 13"\n', 0o644);
}

/** The ID of a boot, of its own for each machine. */
export function bootId({ clusterId, nodeName }: NodeName, boots: number): string {
  const hex = createHash("sha256").update(`${clusterId} ${nodeName} ${boots}`).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}
