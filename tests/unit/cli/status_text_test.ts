import assert from "node:assert/strict";
import { statusText, type WholeStatus } from "../../../cli/status_text.ts";
import { readStatus } from "../../../core/agent/status.ts";
import { createMachine } from "../operations/machine.ts";

const HOLD = "cluster.restore r-1 holds k3s until its reset succeeded";
const RESTORE = {
  id: "r-1",
  kind: "cluster.restore",
  step: "reset_restore",
  step_since: "2026-01-01T12:00:00.000Z",
} as const;

/** The lines of a node's status that differ from those of one with nothing to tell. */
async function tells(differs: Partial<WholeStatus>): Promise<readonly string[]> {
  const known = await readStatus(createMachine().disk);
  const whole: WholeStatus = {
    ...known,
    ...{ version: "1.0.0", running: true, pid: 7, k3s_unit: "inactive", slots: null },
  };
  const usual = statusText(whole).split("\n");
  return statusText({ ...whole, ...differs }).split("\n").filter((line) => !usual.includes(line));
}

Deno.test("statusText: the operation under way, with its step", async () => {
  assert.deepEqual(await tells({ operation: { ...RESTORE, state: "running" }, k3s_hold: HOLD }), [
    "operation  r-1 (cluster.restore): step reset_restore since 2026-01-01T12:00:00.000Z",
    `k3s held   ${HOLD}`,
  ]);
  const first = { ...RESTORE, state: "running", step: null, step_since: null } as const;
  assert.deepEqual(await tells({ operation: first }), [
    "operation  r-1 (cluster.restore): before its first step",
  ]);
});

Deno.test("statusText: a restore that failed leaves k3s held, and says where the way out stands", async () => {
  const ways =
    "do not start it by hand: `pbx-agent operations` says what happened and the ways out";
  assert.deepEqual(await tells({ operation: { ...RESTORE, state: "failed" }, k3s_hold: HOLD }), [
    "operation  r-1 (cluster.restore): failed in step reset_restore; " +
    "the portal has not acknowledged it yet",
    `k3s held   ${HOLD}`,
    `           ${ways}`,
  ]);
  assert.deepEqual(await tells({ k3s_hold: HOLD }), [`k3s held   ${HOLD}`, `           ${ways}`]);
});

Deno.test("statusText: who acts on the cluster, where it is not the agent", async () => {
  const reason = { kind: "other_cluster", known: "own-uid", seen: "other-uid" } as const;
  const [foreign] = await tells({ custody: { who: "nobody", reason } });
  assert.match(foreign ?? "", /^acts {7}nobody: .*other-uid.*own-uid/);
  const alone = { who: "operation", id: "r-1", kind: "cluster.restore", step: "wait_api" } as const;
  const [operation] = await tells({ custody: alone });
  assert.match(operation ?? "", /^acts {7}the operation alone: cluster\.restore r-1/);
});

Deno.test("statusText: says what restores moved aside, and how much room it takes", async () => {
  const folders = ["/var/lib/rancher/k3s/server/db/etcd-old-1"];
  assert.deepEqual(await tells({ moved_aside: { folders, bytes: 1_500_000 } }), [
    "old data   2 MB that restores moved aside; remove it once it is not needed any more:",
    `           ${folders[0]}`,
  ]);
});
