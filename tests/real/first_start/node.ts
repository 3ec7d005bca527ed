import { buildAgentProgram } from "../../lab/agent_program.ts";
import type { AgentUnit } from "../../lab/agent_unit.ts";
import { installAgent } from "../../lab/agent_unit.ts";
import { makeBaseRoot } from "../../lab/base_root.ts";
import type { Container, ContainerOptions } from "../../lab/container.ts";
import { startContainer } from "../../lab/container.ts";
import { installK3sUnit, k3sBind } from "../../lab/k3s_unit.ts";
import type { PortalBeside } from "../../lab/portal_beside.ts";
import { startPortalBeside } from "../../lab/portal_beside.ts";
import type { S3Gateway } from "../../lab/s3_gateway.ts";
import { startS3Gateway } from "../../lab/s3_gateway.ts";
import { bootstrapPatch, desiredPatch, FIRST_START } from "./setting.ts";
import { FIRST_RELEASE } from "../../../adapters/portal/first_release.ts";
import type { JsonObject } from "../../../core/json.ts";

/** A comment that has to be in config.yaml after the token was taken out of it. */
export const COMMENT = "# written by cloud-init";

/** A server before its first start, a portal that waits for it, and a bucket for its snapshots. */
export interface Node {
  readonly container: Container;
  readonly portal: PortalBeside;
  readonly agent: AgentUnit;
  readonly s3: S3Gateway;
  stop(): Promise<void>;
}

/** How a node is laid out. */
export interface NodeOptions extends Pick<ContainerOptions, "disks"> {
  /** More lines of config.yaml, which may name the bucket. */
  readonly config?: (s3: S3Gateway) => string;
  /** A merge patch over the desired state of these suites. */
  readonly desired?: JsonObject;
}

/** Lays out everything; nothing of the agent or k3s runs yet. */
export async function layOutNode(
  { config, desired, ...options }: NodeOptions = {},
): Promise<Node> {
  const program = await buildAgentProgram();
  const container = await startContainer({
    baseRoot: await makeBaseRoot(),
    bind: [await k3sBind()],
    ...options,
  });
  try {
    const s3 = await startS3Gateway(container.runInNetwork, 9000);
    const portal = await startPortalBeside(container);
    await portal.admin("PATCH", `/admin/clusters/${portal.cluster}`, bootstrapPatch(s3));
    // Each patch is a revision, which the suites count.
    for (const patch of [desiredPatch(s3), ...desired === undefined ? [] : [desired]]) {
      await portal.admin("PATCH", `/admin/clusters/${portal.cluster}/desired`, patch);
    }
    const { releases } = await portal.admin<{ releases: Record<string, { payload: JsonObject }> }>(
      "GET",
      "/admin/state",
    );
    const payload = { ...releases[FIRST_RELEASE]?.payload, first_start: FIRST_START };
    await portal.admin("PUT", `/admin/releases/${FIRST_RELEASE}`, { payload });
    await installK3sUnit(container);
    const text = `${COMMENT}\n${portal.config}${config?.(s3) ?? ""}`;
    const agent = await installAgent(container, program, text);
    const stop = async () => {
      await s3.stop();
      await container.stop();
    };
    return { container, portal, agent, s3, stop };
  } catch (error) {
    await container.stop();
    throw error;
  }
}

/** What the portal's admin API says of everything, as far as this suite looks at it. */
export interface PortalView {
  readonly agents: Record<string, {
    readonly node_name: string;
    readonly last_sync_at: string | null;
    readonly public_keys: { readonly signing: string; readonly sealing: string };
    readonly report: SyncReport | null;
  }>;
  readonly requests: readonly { readonly path: string; readonly status: number | null }[];
  readonly breaches: readonly unknown[];
}

/** Parts of the last sync request (protocol §4). */
export interface SyncReport {
  readonly node: { readonly api: string; readonly boot_id: string; readonly k3s: { unit: string } };
  readonly desired: { readonly revision: number | null };
  readonly pending: { readonly k3s_restart: boolean };
  readonly conditions: readonly { readonly code: string }[];
}

/** Asks the portal. */
export async function viewPortal({ portal }: Node): Promise<PortalView> {
  return await portal.admin<PortalView>("GET", "/admin/state");
}

/** What the agent keeps on its disk, as far as this suite looks at it. */
export interface Kept {
  readonly identity: {
    readonly binding: { readonly agent_id: string } | null;
    readonly keys: unknown;
  };
  readonly step: string;
  readonly kubeSystemUid: string | null;
}

/** Reads identity.json and state.json; a state file that is not there yet reads as the first step. */
export async function readKept({ container }: Node): Promise<Kept> {
  const read = async (name: string) =>
    JSON.parse(await container.readFile(`/var/lib/pbx-agent/${name}`));
  const state = await read("state.json").catch((error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return { first_start: "configure" };
    throw error;
  });
  return {
    identity: await read("identity.json"),
    step: state.first_start,
    kubeSystemUid: state.kube_system_uid ?? null,
  };
}
