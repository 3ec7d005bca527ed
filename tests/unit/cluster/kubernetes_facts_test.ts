import assert from "node:assert/strict";
import { namespaceUid, nodeReady } from "../../../core/cluster/kubernetes_facts.ts";
import type { JsonValue } from "../../../core/json.ts";

Deno.test("namespaceUid: the UID, or null where there is none", () => {
  assert.equal(namespaceUid({ metadata: { uid: "799b1a0c" } }), "799b1a0c");
  for (const odd of [{}, { metadata: null }, { metadata: { uid: "" } }, { metadata: { uid: 7 } }]) {
    assert.equal(namespaceUid(odd), null);
  }
});

Deno.test("nodeReady: True and False are told, everything else is not known", () => {
  const node = (...conditions: JsonValue[]) => ({ status: { conditions } });
  const other = { type: "DiskPressure", status: "True" };
  assert.equal(nodeReady(node(other, { type: "Ready", status: "True" })), true);
  assert.equal(nodeReady(node({ type: "Ready", status: "False" })), false);
  assert.equal(nodeReady(node({ type: "Ready", status: "Unknown" })), null);
  assert.equal(nodeReady(node({ type: "Ready" })), null);
  assert.equal(nodeReady(node(other, null, "Ready")), null);
  assert.equal(nodeReady({ status: { conditions: "Ready" } }), null);
  assert.equal(nodeReady({}), null);
});
