import assert from "node:assert/strict";
import { openApprovalMemory, takeProvenTime } from "../../../core/agent/approval_memory.ts";

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
