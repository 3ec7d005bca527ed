import assert from "node:assert/strict";
import { waitUntil } from "../../lab/wait_until.ts";
import type { Node } from "../first_start/node.ts";

/** What an operation was answered (protocol §5). */
export interface Result {
  readonly state: string;
  readonly step?: string;
  readonly code?: string;
  readonly message?: string;
  readonly output?: Record<string, unknown>;
  readonly log_tail?: readonly string[];
}

/** An operation that the portal offers. */
export interface Operation {
  readonly id: string;
  /** Returns as soon as the journal on the node's disk says that this step is under way. */
  reaches(step: string): Promise<void>;
  /** Its result, by the agent and by the portal; both have to agree, and the events to be whole. */
  result(): Promise<Result>;
}

/** Longest operation: a restore that waits for Nodes to show that they live. */
const LONGEST_MS = 300_000;

/** Queues an operation at the portal. */
export async function offer(
  node: Node,
  kind: string,
  params: Record<string, unknown> = {},
): Promise<Operation> {
  const path = `/admin/clusters/${node.portal.cluster}/operations`;
  const { id } = await node.portal.admin<{ id: string }>("POST", path, { kind, params });
  return watch(node, { id, kind });
}

/** Watches an operation that is queued at the portal. */
export function watch(
  { container, portal }: Node,
  { id, kind }: { readonly id: string; readonly kind: string },
): Operation {
  const path = `/admin/clusters/${portal.cluster}/operations`;

  async function look() {
    const state = JSON.parse(await container.readFile("/var/lib/pbx-agent/state.json"));
    return {
      step: state.operation?.id === id ? state.operation.step as string : null,
      result: (state.finished[id]?.result ?? null) as Result | null,
    };
  }

  async function reaches(step: string): Promise<void> {
    const ended = await waitUntil(`${kind} ${id} to reach ${step}`, async () => {
      const seen = await look();
      return seen.step === step ? null : seen.result ?? undefined;
    }, { timeoutMs: LONGEST_MS, everyMs: 5 });
    if (ended !== null) throw new Error(`ended before ${step}: ${JSON.stringify(ended)}`);
  }

  async function result(): Promise<Result> {
    const own = await waitUntil(`the result of ${kind} ${id}`, async () => {
      return (await look()).result ?? undefined;
    }, { timeoutMs: LONGEST_MS, everyMs: 100 });
    const told = await waitUntil(`the portal to have the result of ${id}`, async () => {
      const seen = await portal.admin<Told>("GET", `${path}/${id}`);
      return seen.result === null ? undefined : seen;
    }, { timeoutMs: 60_000, everyMs: 500 });
    const { log_tail: _log, ...short } = own;
    const { log_tail: _told, ...toldShort } = told.result ?? { state: "none" };
    assert.deepEqual(toldShort, short, "the portal has another result than the node");
    assert.deepEqual(told.events.map(({ seq }) => seq), told.events.map((_, index) => index + 1));
    return own;
  }

  return { id, reaches, result };
}

/** An operation as the portal's admin API shows it. */
interface Told {
  readonly events: readonly { readonly seq: number }[];
  readonly result: Result | null;
}
