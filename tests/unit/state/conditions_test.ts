import assert from "node:assert/strict";
import { clear, raise } from "../../../core/state/conditions.ts";

Deno.test("raise and clear: one condition per code, since when it was first raised", () => {
  const first = raise([], "api_down", "no answer", "2026-01-01T00:00:00Z");
  const two = raise(first, "disk_full", "no room", "2026-01-01T00:01:00Z");
  const again = raise(two, "api_down", "still no answer", "2026-01-01T00:02:00Z");
  assert.deepEqual(again, [
    { code: "api_down", message: "still no answer", since: "2026-01-01T00:00:00Z" },
    { code: "disk_full", message: "no room", since: "2026-01-01T00:01:00Z" },
  ]);
  assert.deepEqual(clear(again, "api_down", "state_lost"), [again[1]]);
  const later = raise(clear(again, "api_down"), "api_down", "again", "2026-01-01T00:03:00Z");
  assert.equal(later[1]?.since, "2026-01-01T00:03:00Z");
});
