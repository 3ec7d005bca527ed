import assert from "node:assert/strict";
import { parseConformance } from "../../../cli/simulate/conformance_options.ts";
import { createAskHands } from "../../../simulate/conformance/ask_hands.ts";
import { Secret } from "../../../core/secret.ts";

const LAB = { releaseKeys: [], lab: true };
const SHIPPED = { releaseKeys: [], lab: false };
const PORTAL = ["--portal", "example.com"];

Deno.test("parseConformance: a domain is a base, and what is printed follows from the flags", () => {
  const parsed = parseConformance([...PORTAL, "--burst", "20", "--patient"], SHIPPED);
  assert.ok(parsed.ok && parsed.value !== "help");
  assert.equal(parsed.value.portal, "https://agents.example.com/agent/v1");
  assert.deepEqual([parsed.value.burst, parsed.value.patient, parsed.value.output], [
    20,
    true,
    "text",
  ]);
  const outputs = [["--all"], ["--json"], ["--junit", "-"], ["--junit", "out.xml"]].map((flags) => {
    const each = parseConformance([...PORTAL, ...flags], LAB);
    return each.ok && each.value !== "help" ? [each.value.output, each.value.junit] : each;
  });
  assert.deepEqual(outputs, [
    ["all", null],
    ["json", null],
    ["junit", null],
    ["text", "out.xml"],
  ]);
  assert.deepEqual(parseConformance(["--help"], LAB), { ok: true, value: "help" });
});

const REFUSED: readonly (readonly [readonly string[], RegExp])[] = [
  [[], /--portal is missing/],
  [["--portal", "http://example.com/agent/v1"], /plain http/],
  [[...PORTAL, "--admin", "x"], /is no URL/],
  [[...PORTAL, "--admin", "http://127.0.0.1:1", "--ask"], /not both/],
  [[...PORTAL, "--tokens", "-", "--ask"], /--tokens - cannot/],
  [[...PORTAL, "--burst", "many"], /--burst many/],
  [[...PORTAL, "--json", "--junit", "-"], /not both/],
  [[...PORTAL, "--junit", "file.xml"], /writes no files/],
  [[...PORTAL, "--release-key", "YQ=="], /32 bytes/],
  [[...PORTAL, "--fast"], /--fast/],
  [[...PORTAL, "more"], /./],
];

for (const [args, message] of REFUSED) {
  Deno.test(`parseConformance: refuses ${args.slice(-3).join(" ")}`, () => {
    const parsed = parseConformance(args, SHIPPED);
    assert.ok(!parsed.ok);
    assert.match(parsed.error, message);
  });
}

Deno.test("createAskHands: names what is to be done, and takes the answer", async () => {
  const asked: string[] = [];
  const hands = createAskHands((question) => asked.push(question) !== 2);
  const node = {
    token: new Secret("token-in-question"),
    clusterId: "c",
    nodeName: "c-1",
    serverId: "7",
    expired: false,
    imageSha256: null,
    k3sTokenSha256: null,
  };
  assert.equal(await hands.offer(node), true);
  assert.equal(await hands.limit(), false);
  assert.equal(await hands.revoke(node, "agent-1"), true);
  assert.deepEqual(await hands.tokens(), []);
  assert.match(asked.join("\n"), /c-1 of cluster c[\s\S]*429[\s\S]*agent-1/);
  assert.doesNotMatch(asked.join("\n"), /token-in-question/);
});
