import assert from "node:assert/strict";
import { applyChange, parsePatch } from "../../../simulate/apply_patch.ts";
import { plantedFaults, plantedPatch, searchFault } from "../../../simulate/planted.ts";

Deno.test("planted faults: at least twelve, and every patch applies to the sources as they are", () => {
  const faults = plantedFaults();
  assert.ok(faults.length >= 12, String(faults.length));
  for (const fault of faults) {
    const changes = parsePatch(plantedPatch(fault));
    assert.ok(changes.length > 0, fault);
    for (const change of changes) {
      const text = Deno.readTextFileSync(new URL(`../../../../${change.path}`, import.meta.url));
      assert.notEqual(applyChange(text, change), text, fault);
    }
  }
});

Deno.test("planted faults: the simulation finds one", async () => {
  const search = { profile: "rough", agents: 1, hours: 2, from: 1, to: 5 } as const;
  const found = await searchFault("seq_reused", search);
  assert.equal(found.rule, "keeps_the_protocol");
  assert.match(found.how ?? "", /number [0-9]+ had another content before/);
});

const PATCH = `Words about it.

--- a/core/one.ts
+++ b/core/one.ts
@@ -1,3 +1,3 @@
 first
-second
+changed
 third
`;

Deno.test("applyChange: replaces the lines, wherever they stand", () => {
  const [change] = parsePatch(PATCH);
  assert.ok(change !== undefined);
  assert.equal(change.path, "core/one.ts");
  assert.equal(
    applyChange("zero\nfirst\nsecond\nthird\n".replaceAll("\\\n", "\n"), change),
    "zero\nfirst\nchanged\nthird\n".replaceAll("\\\n", "\n"),
  );
});

Deno.test("applyChange: lines that are gone, or there twice, are an error and not a guess", () => {
  const [change] = parsePatch(PATCH);
  assert.ok(change !== undefined);
  assert.throws(() => applyChange("first\nother\nthird\n", change), /does not apply/);
  const twice = "first\nsecond\nthird\n".repeat(2);
  assert.throws(() => applyChange(twice, change), /are there 2 times/);
});
