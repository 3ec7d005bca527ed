import assert from "node:assert/strict";
import {
  openAll,
  scanEnrollAnswer,
  scanSyncAnswer,
} from "../../../core/protocol/secret_positions.ts";
import type { JsonValue } from "../../../core/json.ts";
import { AGENT, sealed } from "../../../fixtures/source/material.ts";
import { ENROLLMENT_DOCUMENTS } from "../../../fixtures/source/enrollment.ts";
import { REFUSED_DOCUMENTS, type RefusedDocument } from "../../../fixtures/source/refused.ts";

/** Scans and opens, as the agent does before anything else in an answer is used. */
function take({ answer_to, document }: Pick<RefusedDocument, "answer_to" | "document">) {
  const found = answer_to === "enroll" ? scanEnrollAnswer(document) : scanSyncAnswer(document);
  return found.ok ? openAll(found.value, [AGENT.sealing]) : found;
}

Deno.test("refused documents: each is refused with its code, and the message names its place", () => {
  for (const [name, refused] of Object.entries(REFUSED_DOCUMENTS)) {
    const result = take(refused);
    assert.ok(!result.ok, name);
    assert.equal(result.error.code, refused.code, name);
    assert.ok(result.error.message.startsWith(`${refused.path}: `), name);
    assert.ok(!result.error.message.includes("a-secret-in-clear"), name);
  }
});

Deno.test("openAll: opens every box of a document, by path", () => {
  const document = ENROLLMENT_DOCUMENTS.enroll_answer as JsonValue;
  const secrets = take({ answer_to: "enroll", document });
  assert.ok(secrets.ok);
  assert.equal(secrets.value.get("k3s.token")?.secret.reveal(), "example-k3s-server-token");
  assert.equal(secrets.value.size, 5);
});

Deno.test("openAll: one box that does not open fails them all", () => {
  const found = [
    { path: "a", steps: ["a"], position: "a", box: sealed("a", "x").sealed },
    { path: "b", steps: ["b"], position: "b", box: sealed("b", "y", AGENT.nextSealing).sealed },
  ];
  const refused = openAll(found, [AGENT.sealing]);
  assert.ok(!refused.ok);
  assert.equal(refused.error.code, "undecryptable_secret");
  assert.match(refused.error.message, /^b: /);
  assert.ok(openAll(found, [AGENT.sealing, AGENT.nextSealing]).ok);
  assert.deepEqual(openAll([], []), { ok: true, value: new Map() });
});
