import * as z from "zod";
import type { StepEnd, StepTools } from "../definition.ts";
import { mayPass } from "../../cluster/may_pass.ts";
import { nodeNames } from "../snapshots/find_snapshots.ts";
import type { RestoreParams } from "./params.ts";
import { NODE_LEASES, type NodeLife, nodeLives, NODES, staleNodes } from "./stale_nodes.ts";

type Tools = StepTools<RestoreParams>;

/** How long a Node has to show that it is there, milliseconds of an API that answers. */
const GRACE_MS = 120_000;
/** Between two looks, as a kubelet renews its Lease. */
const LOOK_MS = 10_000;

/** The Nodes that wait_api found, by name and UID. */
const Found = z.object({ nodes: z.array(z.object({ name: z.string(), uid: z.string() })) });

/**
 * The Nodes but for the own one, by whichever name k3s may have given it; null while the API does not
 * tell.
 */
export async function otherNodes({ ports, node }: Tools): Promise<readonly NodeLife[] | null> {
  const nodes = await ports.k8s.list(NODES);
  const leases = await ports.k8s.list(NODE_LEASES);
  if (!nodes.ok || !leases.ok) return null;
  const own = await nodeNames(ports, node);
  return nodeLives(nodes.value ?? [], leases.value ?? []).filter(({ name }) => !own.includes(name));
}

/** Deletes the Nodes of before that are not there any more, but never the own one. */
export async function forgetStaleNodes(tools: Tools): Promise<StepEnd> {
  const { say } = tools;
  const { nodes: found } = Found.parse(tools.handed);
  const before = await listed(tools);
  if (before === null) return NO_LIST;
  if (before.length > 0) {
    const names = before.map(({ name }) => name).join(", ");
    await say(`waiting ${GRACE_MS / 1000} s for signs of life of ${names}`);
    const silent = await silentNodes(tools, before);
    if (silent === null) return NO_LIST;
    for (const stale of silent) {
      const end = await forget(tools, stale);
      if (end.kind === "refused") {
        return { kind: "failed", message: `Node ${stale.name} cannot be deleted: ${end.why}` };
      }
      await say(
        end.kind === "gone"
          ? `Node ${stale.name} gave no sign of life and is deleted`
          : `Node ${stale.name} is another one by now and stays`,
      );
    }
  }
  const left = await listed(tools);
  if (left === null) return NO_LIST;
  // Those that a run before a crash deleted too, and those whose finalizers still run.
  const there = new Set(left.filter(({ isDeleted }) => !isDeleted).map(({ uid }) => uid));
  const gone = found.filter(({ uid }) => !there.has(uid)).map(({ name }) => name);
  return {
    kind: "done",
    handed: { forgotten_nodes: gone },
    evidence: gone.length === 0 ? "no Node is stale" : `these Nodes are gone: ${gone.join(", ")}`,
  };
}

/**
 * The Nodes that show no sign of life; null where the step has to end before that is known. Only time
 * between two answers of the API counts, and no more of it than a look takes: no kubelet can renew its
 * Lease while the API is away or this machine stands still.
 */
async function silentNodes(
  tools: Tools,
  before: readonly NodeLife[],
): Promise<readonly NodeLife[] | null> {
  const { ports: { clock }, signal } = tools;
  let silent = before;
  let countedMs = 0;
  let answeredAt: number | null = clock.monotonic();
  while (silent.length > 0 && countedMs < GRACE_MS) {
    await clock.sleep(LOOK_MS, signal);
    if (signal.aborted) return null;
    const now = await otherNodes(tools);
    const at = clock.monotonic();
    if (now !== null) silent = staleNodes(silent, now);
    if (now !== null && answeredAt !== null) countedMs += Math.min(at - answeredAt, LOOK_MS);
    answeredAt = now === null ? null : at;
  }
  return silent;
}

const NO_LIST: StepEnd = { kind: "failed", message: "the API does not list the Nodes" };

async function listed(tools: Tools): Promise<readonly NodeLife[] | null> {
  return await tools.waitFor("the API to list Nodes and their Leases", () => otherNodes(tools));
}

/** What became of a Node that is to be deleted. `another`: one of its name came meanwhile. */
type Forgotten =
  | { readonly kind: "gone" | "another" }
  | { readonly kind: "refused"; readonly why: string };

/** Deletes a Node, this very one. */
async function forget({ ports, waitFor }: Tools, { name, uid }: NodeLife): Promise<Forgotten> {
  let why = "the API does not answer";
  const end = await waitFor(
    `the API to delete Node ${name}`,
    async (): Promise<Forgotten | null> => {
      const removed = await ports.k8s.remove({ ...NODES, name }, { uid });
      if (removed.ok) return { kind: "gone" };
      why = removed.error.message;
      if (mayPass(removed.error)) return null;
      const isAnother = removed.error.code === "refused" && removed.error.status === 409;
      return isAnother ? { kind: "another" } : { kind: "refused", why };
    },
  );
  return end ?? { kind: "refused", why };
}
