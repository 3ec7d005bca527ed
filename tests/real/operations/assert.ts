import assert from "node:assert/strict";
import { waitUntil } from "../../lab/wait_until.ts";
import { readKept, viewPortal } from "../first_start/node.ts";
import type { Node } from "../first_start/node.ts";
import type { Result } from "./operation.ts";
import { databasesWith, lookAt, readData, type Truth } from "./truth.ts";

/** What has to stay as it is whatever is restored. */
export interface Identity {
  readonly agentId: string;
  readonly keys: unknown;
  readonly uid: string;
}

/** The identity of a node that runs. */
export async function identify(node: Node): Promise<Identity> {
  const { identity } = await readKept(node);
  const { uid } = await readData(node);
  assert.ok(identity.binding, "the agent is not enrolled");
  return { agentId: identity.binding.agent_id, keys: identity.keys, uid };
}

/** The agent says that it restored, and a look at etcd agrees. */
export async function assertRestored(
  node: Node,
  result: Result,
  { identity, marks }: { readonly identity: Identity; readonly marks: readonly string[] },
): Promise<void> {
  assert.equal(result.state, "succeeded", JSON.stringify(result, null, 1));
  // The API is up a little before k3s tells systemd so.
  const truth = await waitUntil("systemd to call k3s active", async () => {
    const seen = await lookAt(node);
    return seen.unit === "active" ? seen : undefined;
  }, { timeoutMs: 30_000 });
  assert.ok(!truth.isHeld, "k3s is held still");
  assert.ok(!truth.hasSqlite, "k3s came up on sqlite");
  const data = await readData(node);
  assert.deepEqual(data.marks, [...marks].sort());
  assert.equal(data.uid, identity.uid, "it is another cluster");
  await assertSameAgent(node, identity);
}

/** The agent is enrolled as it was, and broke no rule. */
export async function assertSameAgent(node: Node, { agentId, keys }: Identity): Promise<void> {
  const kept = await readKept(node);
  assert.equal(kept.identity.binding?.agent_id, agentId);
  assert.deepEqual(kept.identity.keys, keys);
  const view = await viewPortal(node);
  assert.deepEqual(Object.keys(view.agents), [agentId]);
  assert.deepEqual(view.breaches, []);
}

/** The agent refuses, says every one of `reasons`, and k3s runs on as if nothing had been asked. */
export async function assertRefused(
  node: Node,
  result: Result,
  { before, reasons }: { readonly before: Truth; readonly reasons: readonly RegExp[] },
): Promise<void> {
  assert.equal(result.state, "failed", JSON.stringify(result));
  assert.equal(result.step, "stop_k3s");
  const message = result.message ?? "";
  assert.match(message, /^nothing was stopped or changed: /);
  for (const reason of reasons) assert.match(message, reason);
  assert.deepEqual(await lookAt(node), before);
}

/**
 * The agent says that the reset failed. k3s is down and cannot be started, nothing came up in the
 * place of the cluster, and its data is where it was or where the agent says.
 */
export async function assertHeld(
  node: Node,
  result: Result,
  { mark, says }: { readonly mark: string; readonly says: RegExp },
): Promise<void> {
  assert.equal(result.state, "failed", JSON.stringify(result, null, 1));
  assert.equal(result.step, "reset_restore", JSON.stringify(result, null, 1));
  const message = result.message ?? "";
  assert.match(message, says);
  assert.match(message, /k3s is stopped and held/);
  await node.container.exec(["systemctl", "start", "k3s.service"]);
  const truth = await lookAt(node);
  assert.equal(truth.unit, "inactive", "k3s can be started although it is held");
  assert.ok(truth.isHeld);
  assert.ok(!truth.hasSqlite, "k3s came up on sqlite");
  const holders = await databasesWith(node, mark);
  assert.ok(holders.length > 0, `${mark} is lost`);
  const named = /the old data is whole in (.+?);/.exec(message)?.[1];
  if (named === undefined) assert.ok(holders.includes("etcd"), `untouched? ${message}`);
  else {assert.ok(
      holders.some((name) => named.includes(`/${name}`)),
      `${holders} hold it: ${message}`,
    );}
}
