import assert from "node:assert/strict";
import {
  type RebootEvidence,
  type RebootVerdict,
  rebootVerdict,
} from "../../../../core/operations/upgrade/reboot_verdict.ts";

const FROM = "pbx-1.0.0-amd64.efi";
const TO = "pbx-1.1.0-amd64.efi";
const OTHER = "pbx-0.9.0-amd64.efi";

const RECORDS: readonly RebootEvidence["record"][] = [
  { kind: "whole", bootId: "before", uptimeSeconds: 600 },
  { kind: "whole", bootId: "before", uptimeSeconds: null },
  { kind: "absent" },
  { kind: "unreadable" },
];

/** Every combination of what the node can show. */
function* everything(): Generator<RebootEvidence> {
  const loaders: RebootEvidence["loader"][] = [null];
  for (const oneShot of [TO, OTHER, null]) {
    for (const pinned of [FROM, TO, OTHER, null]) loaders.push({ oneShot, default: pinned });
  }
  for (const ordered of [true, false]) {
    for (const record of RECORDS) {
      for (const bootId of ["before", "now", null]) {
        for (const uptimeSeconds of [20, 600, 900, null]) {
          for (const booted of [FROM, TO, OTHER, null]) {
            for (const loader of loaders) {
              const entries = { fromEntry: FROM, toEntry: TO };
              yield { ordered, record, bootId, uptimeSeconds, ...entries, booted, loader };
            }
          }
        }
      }
    }
  }
}

/** What proves that the machine has booted since the record. */
function bootProofs({ record, bootId, uptimeSeconds, booted }: RebootEvidence): string[] {
  const proofs: string[] = [];
  if (booted === TO || booted === OTHER) proofs.push("entry");
  if (record.kind !== "whole") return proofs;
  if (bootId === "now") proofs.push("boot ID");
  if (record.uptimeSeconds !== null && uptimeSeconds === 20) proofs.push("uptime");
  return proofs;
}

/** What has to hold of a verdict, whatever the evidence. */
const RULES: readonly (readonly [string, (of: RebootEvidence, is: RebootVerdict) => boolean])[] = [
  [
    "what was ordered is never ordered again",
    ({ ordered }, { kind }) => !(ordered && kind === "not_begun"),
  ],
  [
    "where anything proves a boot, the step does not run",
    (of, { kind }) => bootProofs(of).length === 0 || kind !== "not_begun",
  ],
  [
    "without anything that proves a boot, none is believed",
    (of, { kind }) => bootProofs(of).length > 0 || kind !== "completed",
  ],
  [
    "a boot and a one-shot entry that no loader took contradict each other",
    (of, { kind }) =>
      bootProofs(of).length === 0 || of.loader?.oneShot !== TO || kind === "unclear",
  ],
  [
    "the new image runs: completed, whatever the boot ID says",
    (of, { kind }) => of.booted !== TO || of.loader?.oneShot === TO || kind === "completed",
  ],
  [
    "another boot ID or a smaller uptime: completed, whatever came up",
    (of, { kind }) => {
      const isProven = bootProofs(of).some((proof) => proof !== "entry");
      const isAgainst = of.loader?.oneShot === TO ||
        (of.loader?.default === TO && of.booted !== TO);
      return !isProven || isAgainst || kind === "completed";
    },
  ],
  [
    "somebody pinned the new image while another one runs: unclear",
    (of, { kind }) => of.loader?.default !== TO || of.booted === TO || kind === "unclear",
  ],
  [
    "nothing was ordered and the old image runs in the same boot: it runs",
    (of, { kind }) =>
      of.ordered || of.booted !== FROM || bootProofs(of).length > 0 ||
      of.loader?.default === TO || kind === "not_begun",
  ],
  [
    "the node may still go down only where it was told to and nothing shows a boot",
    (of, is) =>
      !(is.kind === "unclear" && is.mayGoDown) ||
      (of.ordered && bootProofs(of).length === 0 && of.loader?.oneShot !== null),
  ],
  [
    "ordered, the old image runs, the one-shot entry is still set: the node may still go down",
    (of, is) =>
      !of.ordered || of.booted !== FROM || of.loader?.oneShot !== TO ||
      of.loader.default === TO || bootProofs(of).length > 0 ||
      (is.kind === "unclear" && is.mayGoDown),
  ],
];

Deno.test("rebootVerdict: every rule holds for every combination of evidence", () => {
  const seen = { not_begun: 0, completed: 0, unclear: 0 };
  for (const evidence of everything()) {
    const verdict = rebootVerdict(evidence);
    seen[verdict.kind] += 1;
    for (const [rule, holds] of RULES) {
      assert.ok(holds(evidence, verdict), `${rule}: ${JSON.stringify({ evidence, verdict })}`);
    }
  }
  assert.equal(seen.not_begun + seen.completed + seen.unclear, 2 * 4 * 3 * 4 * 4 * 13);
  assert.ok(Math.min(...Object.values(seen)) > 100, JSON.stringify(seen));
});

/** A node that was told to reboot and shows the boot before it. */
const TOLD: RebootEvidence = {
  ordered: true,
  record: { kind: "whole", bootId: "before", uptimeSeconds: 600 },
  bootId: "before",
  uptimeSeconds: 900,
  fromEntry: FROM,
  toEntry: TO,
  booted: FROM,
  loader: { oneShot: TO, default: FROM },
};
const TAKEN = { oneShot: null, default: FROM };

const CASES: readonly (readonly [string, Partial<RebootEvidence>, RebootVerdict["kind"]])[] = [
  ["the shutdown is under way, or the order was lost", {}, "unclear"],
  ["a container: the new image runs", { booted: TO, loader: TAKEN }, "completed"],
  ["a container that fell back", { loader: TAKEN }, "unclear"],
  ["the same boot ID and a smaller uptime", { uptimeSeconds: 20, loader: TAKEN }, "completed"],
  ["a machine that fell back", { bootId: "now", uptimeSeconds: 20, loader: TAKEN }, "completed"],
  ["a boot that left the one-shot entry", { bootId: "now", uptimeSeconds: 20 }, "unclear"],
  [
    "a power cut before the order",
    { ordered: false, bootId: "now", booted: TO, loader: TAKEN },
    "completed",
  ],
  ["a cut before the order", { ordered: false }, "not_begun"],
  ["a cut before the record", { ordered: false, record: { kind: "absent" } }, "not_begun"],
  ["the record is lost, the old image runs", { record: { kind: "absent" } }, "unclear"],
  [
    "the record is lost, the new image runs",
    { record: { kind: "absent" }, booted: TO, loader: TAKEN },
    "completed",
  ],
  ["a third image in the same boot", { booted: OTHER, loader: TAKEN }, "unclear"],
];
for (const [what, change, kind] of CASES) {
  Deno.test(`rebootVerdict: ${what}: ${kind}`, () => {
    assert.equal(rebootVerdict({ ...TOLD, ...change }).kind, kind);
  });
}
