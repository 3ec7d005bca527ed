import assert from "node:assert/strict";
import { conformanceJunit } from "../../../../simulate/conformance/junit.ts";
import type { Conformance } from "../../../../simulate/conformance/run.ts";
import { conformanceText } from "../../../../simulate/conformance/text.ts";
import { parseTokenFile } from "../../../../simulate/conformance/token_file.ts";

const HOSTILE = '</failure><x a="1">\x1b[2J\x00\u202e\ud800&';
const REPORT: Conformance = {
  kind: "pbx-conformance-report",
  format: 1,
  portal: "https://agents.example.com/agent/v1",
  started_at: "2026-03-01T12:00:00.000Z",
  duration_ms: 1234,
  requests: 3,
  passed: 1,
  failed: 1,
  skipped: 1,
  rules: [
    {
      id: "answer.status",
      paragraph: "§1",
      title: "Success is 200",
      checks: 2,
      findings: [],
      verdict: "pass",
      reason: "worth knowing",
    },
    {
      id: "replay.refused",
      paragraph: "§1",
      title: "Again is refused",
      checks: 1,
      findings: [{ sent: "POST /sync", came: HOSTILE, expected: "400 replayed" }],
      verdict: "fail",
    },
    {
      id: "replay.memory",
      paragraph: "§1",
      title: "It is remembered",
      needs: "patience",
      checks: 0,
      findings: [],
      verdict: "skip",
    },
  ],
};

Deno.test("conformanceText: what does not hold with what was sent and came, what was not tried with how it can be", () => {
  const text = conformanceText(REPORT, { colour: false, all: false });
  assert.deepEqual(text.split("\n").map((line) => line.trimEnd()), [
    "FAIL  §1  replay.refused  Again is refused",
    "        sent: POST /sync",
    String.raw`        came: </failure><x a="1">\u001b[2J\u0000\u202e\ud800&`,
    "        expected: 400 replayed",
    "skip  §1  replay.memory   It is remembered",
    "        to try it: patience",
    "",
    "https://agents.example.com/agent/v1: 1 rules hold, 1 do not, 1 were not tried (3 requests in 1.2 s)",
    "",
  ]);
  const all = conformanceText(REPORT, { colour: true, all: true });
  const [first, second] = all.split("\n");
  assert.equal(first, "\x1b[32mpass\x1b[0m  §1  answer.status   Success is 200");
  assert.equal(second, "        worth knowing");
});

Deno.test("conformanceJunit: a test case a rule, with nothing that XML cannot say", () => {
  const xml = conformanceJunit(REPORT);
  assert.match(xml, /tests="3" failures="1" skipped="1" errors="0" time="1\.234"/);
  assert.match(xml, /name="answer\.status: Success is 200"\/>/);
  assert.match(xml, /<skipped message="to try it: patience"\/>/);
  assert.match(xml, /came: &lt;\/failure&gt;&lt;x a="1"&gt;�\[2J�\u202e�&amp;/);
  // deno-lint-ignore no-control-regex -- these are what must not be there
  assert.doesNotMatch(xml, /[\x00-\x08\x0b-\x1f]|<x /);
  assert.equal(xml.match(/<testcase /g)?.length, 3);
});

Deno.test("parseTokenFile: a line each, and an error that shows nothing of the line", () => {
  const line = { token: "secret-1", cluster_id: "c", node_name: "c-1", server_id: "7" };
  const good = parseTokenFile(
    `${JSON.stringify(line)}\n\n${JSON.stringify({ ...line, expired: true })}\n`,
  );
  assert.ok(good.ok);
  assert.deepEqual(good.value.map(({ expired, imageSha256 }) => [expired, imageSha256]), [
    [false, null],
    [true, null],
  ]);
  assert.equal(good.value[0]?.token.reveal(), "secret-1");
  for (const bad of ["{", '"secret-1"', JSON.stringify({ ...line, node_name: "Secret-1" })]) {
    const parsed = parseTokenFile(`${JSON.stringify(line)}\n${bad}`);
    assert.ok(!parsed.ok && parsed.error.startsWith("line 2: "), bad);
    assert.doesNotMatch(parsed.error, /ecret-1/);
  }
});
