import assert from "node:assert/strict";
import {
  decideGate,
  type GateDecision,
  type GateFacts,
  uptimeAtReboot,
} from "../../../../core/operations/upgrade/gate.ts";

const FROM = "pbx-1.0.0-amd64.efi";
const TO = "pbx-1.1.0-amd64.efi";
const MINUTE = 60_000;

const RECORD = {
  operation: "op",
  from_entry: FROM,
  to_entry: TO,
  boot_id: "before",
  uptime_s: 86_400,
  gate_boot: "now",
};
const VERDICT = { why: "the API is down", boot_id: "now", at: "2026-01-01T00:00:00Z" };

/** Four minutes into the gate, healthy long enough. */
const HEALTHY: GateFacts = {
  fromEntry: FROM,
  toEntry: TO,
  booted: TO,
  bootId: "now",
  elapsedMs: 4 * MINUTE,
  gateMs: 20 * MINUTE,
  record: RECORD,
  backOrdered: false,
  timerCame: false,
  findings: [],
  healthyForMs: MINUTE,
};

type Row = readonly [string, Partial<GateFacts>, GateDecision["kind"], RegExp];

const TABLE: readonly Row[] = [
  ["healthy for long enough", {}, "passed", /^$/],
  ["healthy for a moment", { healthyForMs: 19_999 }, "wait", /has to stay so/],
  ["not healthy yet", { findings: ["no Node", "no API"] }, "wait", /^no Node; no API$/],
  ["healthy a moment before the end", { elapsedMs: 20 * MINUTE - 1 }, "passed", /^$/],
  [
    "healthy at the end",
    { elapsedMs: 20 * MINUTE },
    "return",
    /in 20 minutes: .* too short a time/,
  ],
  [
    "not healthy at the end",
    { elapsedMs: 20 * MINUTE, findings: ["no API"] },
    "return",
    /in 20 minutes: no API$/,
  ],
  ["an unknown image", { booted: null }, "wait", /not known for sure/],
  [
    "an unknown image at the end",
    { booted: null, elapsedMs: 20 * MINUTE },
    "return",
    /not known for sure/,
  ],
  ["a second boot of the new image", { bootId: "later" }, "return", /restarted within its health/],
  ["a third image", { booted: "pbx-0.9.0-amd64.efi" }, "lost", /but pbx-0\.9\.0/],
  ["the old image", { booted: FROM }, "back", /did not come up/],
  ["the old image, by the timer", { booted: FROM, timerCame: true }, "back", /return's timer/],
  [
    "the old image, by the agent",
    { booted: FROM, bootId: "later", record: { ...RECORD, verdict: VERDICT } },
    "back",
    /^the API is down$/,
  ],
  [
    "told to return, not restarted yet",
    { record: { ...RECORD, verdict: VERDICT } },
    "return",
    /^the API is down$/,
  ],
  [
    "the return is ordered, and the node did not go down yet",
    { record: { ...RECORD, verdict: VERDICT }, backOrdered: true },
    "wait",
    /told to restart into pbx-1\.0\.0/,
  ],
  [
    "the return is ordered, and the boot ID is the same for ever",
    { record: { ...RECORD, verdict: VERDICT }, backOrdered: true, elapsedMs: 31 * MINUTE },
    "lost",
    /the API is down; the node was told to restart into pbx-1\.0\.0.*, and pbx-1\.1\.0.* runs/,
  ],
  [
    "the return is ordered, and no record tells why",
    { record: null, backOrdered: true, elapsedMs: 31 * MINUTE, booted: null },
    "lost",
    /^the node was told to restart into pbx-1\.0\.0.*, and an image that is not known runs/,
  ],
  [
    "the timer came, and the new image runs all the same",
    { timerCame: true, elapsedMs: 31 * MINUTE },
    "lost",
    /told to restart into pbx-1\.0\.0/,
  ],
  ["the timer comes just now", { timerCame: true }, "wait", /told to restart into pbx-1\.0\.0/],
  ["back, although ordered", { booted: FROM, backOrdered: true }, "back", /did not come up/],
  [
    "told to return, and the new image booted again",
    { bootId: "later", record: { ...RECORD, verdict: VERDICT } },
    "lost",
    /the API is down; the node was restarted to return to pbx-1\.0\.0.*pbx-1\.1\.0.* booted/,
  ],
  [
    "told to return, and nobody knows what booted",
    { booted: null, bootId: "later", record: { ...RECORD, verdict: VERDICT } },
    "lost",
    /an image that is not known booted/,
  ],
  ["no record, in the new image", { record: null }, "passed", /^$/],
  ["no record, in the old image", { record: null, booted: FROM }, "back", /did not come up/],
];

for (const [what, change, kind, why] of TABLE) {
  Deno.test(`decideGate: ${what}: ${kind}`, () => {
    const decision = decideGate({ ...HEALTHY, ...change });
    assert.equal(decision.kind, kind);
    assert.match("why" in decision ? decision.why : "", why);
  });
}

Deno.test("decideGate: a gate of a lab that is shorter than a steady while can be passed all the same", () => {
  const lab = { ...HEALTHY, gateMs: 8_000, elapsedMs: 7_000 };
  assert.equal(decideGate({ ...lab, healthyForMs: 2_000 }).kind, "passed");
  assert.equal(decideGate({ ...lab, healthyForMs: 1_999 }).kind, "wait");
});

Deno.test("uptimeAtReboot: nothing on a machine, the host's in a container", () => {
  for (
    const [before, first, base] of [
      [86_400, 20, 0],
      [86_400, 86_403, 86_400],
      [86_400, 86_400, 86_400],
      [null, 20, 0],
    ] as const
  ) assert.equal(uptimeAtReboot(before, first), base);
});
