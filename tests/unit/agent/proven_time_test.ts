import assert from "node:assert/strict";
import { openApprovalMemory, takeProvenTime } from "../../../core/agent/approval_memory.ts";
import type { BoundContext } from "../../../core/agent/context.ts";
import { keepProvenTime, latestTime, noteProvenTime } from "../../../core/agent/release_memory.ts";
import { IDENTITY_FILE } from "../../../core/state/paths.ts";
import { approve, inDays, settled, subjectOf, TARGET } from "./owner.ts";
import { createSettledWorld } from "./world.ts";

const MINUTE = 60_000;

Deno.test("proven time: one answer confirms another only a minute later, and one wrong answer blocks none", () => {
  const memory = openApprovalMemory();
  takeProvenTime(memory, 1_000_000, 0);
  takeProvenTime(memory, 1_030_000, 30_000);
  assert.equal(memory.confirmed, 0);
  takeProvenTime(memory, 1_060_000, MINUTE);
  assert.equal(memory.confirmed, 1_000_000);
  // A wrong one, years ahead: it confirms what was before it, and nothing confirms it.
  takeProvenTime(memory, 9_000_000_000, 2 * MINUTE);
  assert.equal(memory.confirmed, 1_060_000);
  takeProvenTime(memory, 1_180_000, 3 * MINUTE);
  assert.equal(memory.confirmed, 1_060_000);
  takeProvenTime(memory, 1_240_000, 4 * MINUTE);
  assert.equal(memory.confirmed, 1_180_000);
  // A portal that is set back takes nothing away.
  takeProvenTime(memory, 5, 5 * MINUTE);
  takeProvenTime(memory, 60_005, 6 * MINUTE);
  assert.equal(memory.confirmed, 1_180_000);
});

const DAY = 86_400_000;
const REVOKE = { id: "op-1", kind: "access.revoke", params: { everyone: true } };
const S3_TARGET = `s3_target: ${JSON.stringify(TARGET)}\n`;

/** An agent's memory of proven times beside an identity.json that counts its writes. */
function rememberer(proven_time?: string) {
  const kept: string[] = [];
  const identity = {
    current: proven_time === undefined ? {} : { proven_time },
    change(to: (identity: object) => { proven_time: string }) {
      identity.current = to(identity.current);
      kept.push((identity.current as { proven_time: string }).proven_time);
      return Promise.resolve({ ok: true });
    },
  };
  let monotonic = 0;
  const ports = { clock: { monotonic: () => monotonic, now: () => 0 } };
  const time = { now: () => 0 };
  const context = { approvals: openApprovalMemory(), identity, ports, time };
  return {
    context: context as unknown as BoundContext,
    kept,
    /** Another proven answer, `after` milliseconds later, which says `time`. */
    async answer(time: number, after: number) {
      monotonic += after;
      await noteProvenTime(context as unknown as BoundContext, time);
    },
  };
}

Deno.test("proven time: kept once a day, and whenever something is judged", async () => {
  const start = Date.UTC(2026, 0, 1);
  const { context, kept, answer } = rememberer();
  for (let at = 0; at < 3 * DAY; at += MINUTE) await answer(start + at, MINUTE);
  assert.deepEqual(kept.map((time) => (Date.parse(time) - start) / DAY), [0, 1, 2]);
  await keepProvenTime(context);
  const confirmed = start + 3 * DAY - 2 * MINUTE;
  assert.deepEqual(kept.slice(3), [new Date(confirmed).toISOString()]);
  await keepProvenTime(context);
  assert.equal(kept.length, 4, "nothing new is not written again");
  assert.equal(latestTime(context), confirmed);
});

Deno.test("proven time: what an earlier run kept counts, and an earlier time does not replace it", async () => {
  const start = Date.UTC(2026, 0, 1);
  const before = new Date(start).toISOString();
  const { context, kept, answer } = rememberer(before);
  assert.equal(latestTime(context), start);
  for (const at of [0, MINUTE, 2 * MINUTE]) await answer(start - DAY + at, MINUTE);
  await keepProvenTime(context);
  assert.deepEqual(kept, []);
  assert.equal(latestTime(context), start);
});

Deno.test("proven time: an answer that nothing confirms is not kept, whatever is judged", async () => {
  const { context, kept, answer } = rememberer();
  await answer(Date.UTC(2026, 0, 1), MINUTE);
  await answer(Date.UTC(2026, 0, 1) + MINUTE, MINUTE - 1);
  await keepProvenTime(context);
  assert.deepEqual(kept, []);
});

Deno.test("proven time: an expired approval stays dead over a restart with both clocks set back", async () => {
  const world = await settled(S3_TARGET, { hasPortalKeys: true });
  // It needs no API, which is down after the boot.
  const offer = { id: "op-1", kind: "diag.collect", params: {} };
  const approval = approve(world, subjectOf(offer), { expires: inDays(world, 10 / 1440) });
  await world.pass(20 * MINUTE);
  const queued = world.portal.offer({ ...offer, approvals: [approval] });
  await world.pass(MINUTE);
  assert.ok(world.conditions().includes("approval_invalid"));
  const kept = Date.parse(world.stored(IDENTITY_FILE).proven_time);
  assert.ok(kept <= world.clock.now() && kept > world.clock.now() - 5 * MINUTE, "it was judged");
  await world.stop();
  world.reboot();
  world.clock.setWallClock(world.clock.now() - DAY);
  world.start();
  await world.pass(20 * MINUTE);
  assert.ok(world.conditions().includes("approval_invalid"));
  assert.equal(queued.result, null);
  await world.stop();
});

Deno.test("proven time: neither what an approval says nor one wrong answer makes a later one expire", async () => {
  const world = await settled(S3_TARGET, { hasPortalKeys: true });
  // One answer, 40 days ahead.
  world.portal.portal.state.clockOffsetMs = 40 * DAY;
  const syncs = world.requests("/sync");
  while (world.requests("/sync") === syncs) await world.pass(1_000);
  world.portal.portal.state.clockOffsetMs = 0;
  await world.pass(5 * MINUTE);
  const far = { ...REVOKE, id: "op-far" };
  const first = world.portal.offer({
    ...far,
    approvals: [approve(world, subjectOf(far), { expires: inDays(world, 6) })],
  });
  await world.pass(3 * MINUTE);
  assert.equal(first.result?.state, "succeeded");
  assert.ok(Date.parse(world.stored(IDENTITY_FILE).proven_time) <= world.clock.now());
  const near = world.portal.offer({
    ...REVOKE,
    approvals: [approve(world, subjectOf(REVOKE), { expires: inDays(world, 1) })],
  });
  await world.pass(3 * MINUTE);
  assert.equal(near.result?.state, "succeeded");
  await world.stop();
});

Deno.test("proven time: kept when a release is judged, also where the owner has no keys", async () => {
  const world = await createSettledWorld({ hasPortalKeys: true });
  await world.pass(20 * MINUTE);
  const before = Date.parse(world.stored(IDENTITY_FILE).proven_time);
  world.portal.desire({ servers: 3 });
  await world.pass(MINUTE);
  const kept = Date.parse(world.stored(IDENTITY_FILE).proven_time);
  assert.ok(kept >= before + 15 * MINUTE && kept <= world.clock.now(), `${before} ${kept}`);
  await world.stop();
});
