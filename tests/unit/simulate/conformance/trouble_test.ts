import assert from "node:assert/strict";
import { walk } from "./world.ts";

Deno.test("conformance: a portal that never answers is told in words, not as a broken rule", async () => {
  const silent = {
    request: () =>
      Promise.resolve(
        { ok: false, error: { code: "connect", message: "refused" } } as const,
      ),
  };
  await assert.rejects(walk(null, { http: silent }), /does not answer \(connect: refused\)/);
});

Deno.test("conformance: a portal that stops answering is asked a few times more, not a hundred", async () => {
  let asked = 0;
  let late = 0;
  const report = await walk(async ({ answer }) => {
    if (++asked < 30) return await answer();
    late++;
    throw new TimedOut();
  });
  assert.equal(late, 3);
  const reasons = report.rules.map(({ reason }) => reason ?? "");
  assert.ok(reasons.filter((reason) => reason.includes("no longer answers")).length > 20);
  assert.ok(report.failed <= 3, `${report.failed} rules are told as broken`);
});

Deno.test("conformance: a 429 is waited out and the request signed anew", async () => {
  let limited = 0;
  const report = await walk(async ({ path, answer }) => {
    if (path !== "/rotate-key" || limited >= 2) return await answer();
    limited++;
    return { status: 429, headers: { "retry-after": "90" }, body: new TextEncoder().encode(ERROR) };
  });
  assert.deepEqual([limited, report.failed], [2, 0]);
});

const ERROR = JSON.stringify({ error: { code: "too_many_requests", message: "wait" } });

/** What the world turns into a time-out. */
class TimedOut extends Error {
  override readonly name = "TimedOut";
}
