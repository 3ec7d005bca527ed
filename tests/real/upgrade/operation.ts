import type { JsonObject } from "../../../core/json.ts";
import { waitUntil } from "../../lab/wait_until.ts";
import type { World } from "./world.ts";

/** An operation as the portal knows it. */
export interface OperationView {
  readonly events: readonly { readonly step: string | null; readonly state: string }[];
  readonly result: OperationResult | null;
}

/** How an operation ended. */
export interface OperationResult {
  readonly state: string;
  readonly step?: string;
  readonly code?: string;
  readonly message?: string;
  readonly log_tail?: readonly string[];
  readonly output?: JsonObject;
}

/** Parts of a sync's report. */
export interface Report {
  readonly node: {
    readonly api: string;
    readonly ready: boolean | null;
    readonly boot_id: string;
    readonly boot_entry: string | null;
    readonly boot_image_sha256: string | null;
    readonly k3s: { readonly version: string | null };
  };
  readonly operation: { readonly id: string } | null;
  readonly conditions: readonly { readonly code: string; readonly message: string }[];
}

/** Emulated, and beside other work: this is how long anything may take, milliseconds. */
export const PATIENCE_MS = 900_000;

/** Orders `cluster.upgrade`; gives the operation's ID. */
export async function orderUpgrade({ portal }: World, release: string): Promise<string> {
  const id = `to-${release.replaceAll(".", "-")}-${crypto.randomUUID().slice(0, 8)}`;
  const offer = { id, kind: "cluster.upgrade", params: { release } };
  await portal.admin("POST", `/admin/clusters/${portal.cluster}/operations`, offer);
  return id;
}

/** What the portal knows of an operation. */
export async function viewOperation({ portal }: World, id: string): Promise<OperationView> {
  return await portal.admin("GET", `/admin/clusters/${portal.cluster}/operations/${id}`);
}

/** Waits for an event of this step. */
export async function waitForStep(
  world: World,
  id: string,
  step: string,
  state = "started",
): Promise<void> {
  await waitUntil(`${step} ${state}`, async () => {
    const { events, result } = await viewOperation(world, id);
    if (events.some((event) => event.step === step && event.state === state)) return true;
    if (result !== null) throw new Error(`it ended: ${JSON.stringify(result)}`);
    return undefined;
  }, { timeoutMs: PATIENCE_MS, everyMs: 100 });
}

/** Waits for the result. */
export async function waitForResult(world: World, id: string): Promise<OperationResult> {
  return await waitUntil(`the result of ${id}`, async () => {
    return (await viewOperation(world, id)).result ?? undefined;
  }, { timeoutMs: PATIENCE_MS, everyMs: 250 });
}

/** Waits for a report of the present boot, with the API up and nothing under way. */
export async function waitForReport(world: World): Promise<Report> {
  const bootId = (await world.vm.run("cat /proc/sys/kernel/random/boot_id")).trim();
  return await waitUntil("a report of a node that is well", async () => {
    const { agents } = await world.portal.admin<{ agents: Record<string, { report: Report }> }>(
      "GET",
      "/admin/state",
    );
    const report = Object.values(agents)[0]?.report;
    const { node, operation } = report ?? {};
    const isWell = node?.boot_id === bootId && node.api === "up" && node.ready === true;
    return isWell && operation === null ? report : undefined;
  }, { timeoutMs: PATIENCE_MS, everyMs: 250 });
}
