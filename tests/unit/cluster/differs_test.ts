import assert from "node:assert/strict";
import fc from "fast-check";
import { differences, differs } from "../../../core/cluster/differs.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";

const LIVE: JsonObject = {
  metadata: { name: "a", labels: { mine: "1", other: "2" } },
  spec: { list: [{ a: 1 }, 2], text: "x", more: { by: "others" } },
};

const CASES: readonly [string, JsonObject | null, JsonObject, boolean][] = [
  ["nothing there", null, {}, true],
  ["the same", LIVE, LIVE, false],
  ["a part of it", LIVE, { metadata: { labels: { mine: "1" } } }, false],
  ["another value", LIVE, { spec: { text: "y" } }, true],
  ["a missing field", LIVE, { spec: { none: 1 } }, true],
  ["a list with more", LIVE, { spec: { list: [{ a: 1 }, 2, 3] } }, true],
  ["a list with less", LIVE, { spec: { list: [{ a: 1 }] } }, true],
  ["a list in another order", LIVE, { spec: { list: [2, { a: 1 }] } }, true],
  ["an item with less", { l: [{ a: 1, b: 2 }] }, { l: [{ a: 1 }] }, true],
  ["an item with more", { l: [{ a: 1 }] }, { l: [{ a: 1, b: 2 }] }, true],
  ["an empty map that was not stored", { spec: {} }, { spec: { values: {} } }, true],
  ["a Secret's empty data, which is not stored", {}, { data: {} }, false],
  [
    "a chart's value that is unset",
    { spec: { values: {} } },
    { spec: { values: { a: null } } },
    true,
  ],
  [
    "a chart's values that hold null and nothing",
    { spec: { values: { a: null, b: {}, c: [{ d: null }] } } },
    { spec: { values: { a: null, b: {}, c: [{ d: null }] } } },
    false,
  ],
  [
    "an item of a chart's values with null",
    { spec: { values: { c: [{}] } } },
    { spec: { values: { c: [{ d: null }] } } },
    true,
  ],
  ["a null that was not stored", { spec: {} }, { spec: { text: null } }, false],
  ["an item with a null that was not stored", { l: [{}] }, { l: [{ a: null }] }, false],
  ["a null where there is a value", LIVE, { spec: { text: null } }, true],
  ["a map where there is a text", LIVE, { spec: { text: {} } }, true],
  ["a text where there is a map", LIVE, { spec: { more: "x" } }, true],
  ["a list where there is a map", LIVE, { spec: { more: [] } }, true],
  ["the kind, which lists leave out", LIVE, { apiVersion: "v1", kind: "X" }, false],
  ["a key that every object has", LIVE, { spec: { toString: "x" } }, true],
];

for (const [what, live, wanted, expected] of CASES) {
  Deno.test(`differs: ${what}: ${expected}`, () => assert.equal(differs(live, wanted), expected));
}

function owned(manager: string, operation: string, fieldsV1: JsonObject): JsonObject {
  return { ...LIVE, metadata: { managedFields: [{ manager, operation, fieldsV1 }] } };
}

Deno.test("differs: a field that the agent set once and wants no more", () => {
  const wanted = { spec: { text: "x", list: [{ a: 1 }, 2] } };
  const same = { "f:spec": { "f:text": {}, "f:list": { ".": {}, 'k:{"a":1}': { "f:a": {} } } } };
  const more = { "f:spec": { "f:text": {}, "f:more": { "f:by": {} } } };
  assert.equal(differs(owned("pbx-agent", "Apply", same), wanted), false);
  assert.equal(differs(owned("pbx-agent", "Apply", more), wanted), true);
  assert.equal(differs(owned("kubectl", "Apply", more), wanted), false);
  assert.equal(differs(owned("pbx-agent", "Update", more), wanted), false);
});

const leaf = fc.constantFrom<JsonValue>(null, 0, 1, "", "x", true);
const tree = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof({ depthSize: "small" }, leaf, tie("object"), fc.array(leaf, { maxLength: 2 })),
  object: fc.dictionary(fc.constantFrom("a", "b", "spec", "values"), tie("value"), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
})).object;

Deno.test("differences: parts that are the very same object are told as equal copies are", () => {
  fc.assert(
    fc.property(tree, tree, (wanted, other) => {
      const shared = { ...other, ...wanted, spec: { a: wanted["a"] ?? null, b: other } };
      const all = { ...wanted, spec: { a: wanted["a"] ?? null, b: wanted } };
      for (const live of [shared, wanted, other]) {
        assert.deepEqual(differences(live, all), differences(structuredClone(live), all));
      }
    }),
    { seed: 20260307, numRuns: 500 },
  );
});
