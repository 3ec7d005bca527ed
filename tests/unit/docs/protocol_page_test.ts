import assert from "node:assert/strict";
import { CONDITION_CODES } from "../../../core/protocol/conditions.ts";
import { withConditions } from "../../../fixtures/generate_conditions.ts";
import { withExamples } from "../../../fixtures/generate_docs.ts";
import { ERRORS } from "../../../fixtures/source/errors.ts";
import { OPERATIONS } from "../../../fixtures/source/operations.ts";

const ROOT = new URL("../../../", import.meta.url);
const page = Deno.readTextFileSync(new URL("docs/protocol.md", ROOT));

function fixture(path: string): string {
  return Deno.readTextFileSync(new URL(`fixtures/${path}`, ROOT));
}

Deno.test("docs/protocol.md: every example is what its fixture says", () => {
  const hint = "run fixtures/generate_docs.ts";
  assert.equal(withExamples(page, fixture), page, hint);
});

Deno.test("docs/protocol.md and README.md: the tables of conditions are those of the code", () => {
  const readme = Deno.readTextFileSync(new URL("README.md", ROOT));
  for (const text of [page, readme]) {
    assert.equal(withConditions(text), text, "run fixtures/generate_docs.ts");
  }
  assert.throws(() => withConditions("no place"), /no place for the conditions/);
});

Deno.test("docs/protocol.md: no example stands there without a fixture", () => {
  const openings = page.split("\n").filter((line) => /^```\w/.test(line));
  assert.ok(openings.length >= 20);
  for (const line of openings) assert.match(line, /^```json fixture=[\w./#-]+$/);
});

Deno.test("withExamples: a changed example is put right, and a part that is not there fails", () => {
  const altered = page.replace('"acked": 5', '"acked": 6');
  assert.notEqual(altered, page);
  assert.equal(withExamples(altered, fixture), page);
  assert.throws(() => withExamples("```json fixture=protocol/events_answer.json#/x\n```", fixture));
});

Deno.test("docs/protocol.md: names every condition, operation and known error code", () => {
  for (const code of CONDITION_CODES) assert.ok(page.includes(`\`${code}\``), code);
  for (const { kind } of Object.values(OPERATIONS)) assert.ok(page.includes(`\`${kind}\``), kind);
  // Codes that the protocol leaves to the portal are not in its tables.
  const free = ["invalid_request", "revoked", "unknown_release", "too_many_requests"];
  for (const { body } of Object.values(ERRORS)) {
    const { code } = body.error;
    if (!free.includes(code)) assert.ok(page.includes(`\`${code}\``), code);
  }
});

Deno.test("docs/protocol.md: every link within the page has its heading", () => {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title?.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-")
  );
  const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor);
  assert.ok(links.length > 10);
  for (const anchor of links) assert.ok(headings.includes(anchor), anchor);
});
