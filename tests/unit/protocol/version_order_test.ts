import assert from "node:assert/strict";
import { compareVersions } from "../../../core/protocol/version_order.ts";

// The order of semver.org §11, with numbers that a comparison as text or as double would get wrong.
const ASCENDING = [
  ...["0.9.10", "0.10.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"],
  ...["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"],
  ...["9007199254740992.0.0", "9007199254740993.0.0"],
];

Deno.test("compareVersions: orders as Semantic Versioning does", () => {
  for (const [left, a] of ASCENDING.entries()) {
    for (const [right, b] of ASCENDING.entries()) {
      const order = compareVersions(a, b);
      assert.ok(order.ok);
      assert.equal(Math.sign(order.value), Math.sign(left - right), `${a} and ${b}`);
    }
  }
});

Deno.test("compareVersions: build metadata has no order", () => {
  assert.deepEqual(compareVersions("1.0.0+a", "1.0.0+b"), { ok: true, value: 0 });
});

Deno.test("compareVersions: a version without an order is refused by name", () => {
  for (const text of ["1.0", "latest", "v1.0.0", "1.0.0.0", ""]) {
    const order = compareVersions("1.0.0", text);
    assert.ok(!order.ok && order.error.startsWith(text), text);
    assert.equal(compareVersions(text, "1.0.0").ok, false, text);
  }
});
