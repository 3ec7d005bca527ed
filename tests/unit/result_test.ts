import assert from "node:assert/strict";
import { fail, ok } from "../../core/result.ts";

Deno.test("ok: carries its value, whatever it is", () => {
  for (const value of [1, null, undefined, false]) {
    assert.deepEqual(ok(value), { ok: true, value });
  }
});

Deno.test("fail: carries its error", () => {
  assert.deepEqual(fail({ code: "full" }), { ok: false, error: { code: "full" } });
});
