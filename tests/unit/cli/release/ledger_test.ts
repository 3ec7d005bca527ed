import assert from "node:assert/strict";
import { EMPTY_LEDGER, enter, type Ledger, parseLedger } from "../../../../cli/release/ledger.ts";

const AT = "2026-01-01T00:00:00Z";
const payload = (text: string) => new TextEncoder().encode(text);

/** Enters a release; its sequence is one more than the last unless told. */
function entering(ledger: Ledger, version: string, content: string) {
  const sequence = ledger.signed.length + 1;
  return enter(ledger, { version, sequence }, payload(content), AT);
}

function entered(ledger: Ledger, version: string, content: string): Ledger {
  const next = entering(ledger, version, content);
  assert.ok(next.ok, JSON.stringify(next));
  return next.value;
}

Deno.test("enter: versions only rise", () => {
  const ledger = entered(entered(EMPTY_LEDGER, "1.0.0", "one"), "1.1.0", "two");
  assert.deepEqual(ledger.signed.map(({ version }) => version), ["1.0.0", "1.1.0"]);
  for (const version of ["1.0.9", "1.1.0-rc.1", "0.0.1"]) {
    const lower = entering(ledger, version, "x");
    assert.ok(!lower.ok && lower.error.includes("lower than"), version);
  }
});

Deno.test("enter: the same version again only with the same content, and enters nothing", () => {
  const ledger = entered(EMPTY_LEDGER, "1.0.0", "one");
  assert.deepEqual(entered(ledger, "1.0.0", "one"), ledger);
  assert.equal(entering(ledger, "1.0.0", "other").ok, false);
  // Equal in order, another name: a node that asks for one must not be told of the other.
  assert.equal(entering(ledger, "1.0.0+build", "one").ok, false);
});

Deno.test("enter: refuses a version without an order, the first one too", () => {
  assert.equal(entering(EMPTY_LEDGER, "latest", "x").ok, false);
});

Deno.test("enter: a replaced key signs nothing", () => {
  const replaced = entering({ ...EMPTY_LEDGER, replaced_by: "k2" }, "9.0.0", "x");
  assert.ok(!replaced.ok && replaced.error.includes("k2"));
});

Deno.test("parseLedger: reads its own text and refuses what is cut or altered", () => {
  const ledger = entered(EMPTY_LEDGER, "1.0.0", "one");
  const text = JSON.stringify(ledger);
  assert.deepEqual(parseLedger(text), { ok: true, value: ledger });
  for (const bad of ["", text.slice(0, -3), "null", '{"format":2,"signed":[]}', "{}"]) {
    assert.equal(parseLedger(bad).ok, false, bad);
  }
  assert.equal(parseLedger('{"format":1,"signed":[{"version":1}]}').ok, false);
});
