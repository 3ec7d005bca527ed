import assert from "node:assert/strict";
import * as z from "zod";
import { DesiredState } from "../../../core/protocol/desired_state.ts";
import { Release } from "../../../core/protocol/release.ts";
import { describeIssue } from "../../../core/protocol/schema_error.ts";
import { SyncAnswer } from "../../../core/protocol/sync.ts";
import { present } from "../../present.ts";
import { RELEASES } from "../../../fixtures/source/releases.ts";
import { DESIRED_STATE, SYNC_DOCUMENTS } from "../../../fixtures/source/syncing.ts";

function described(schema: z.ZodType, value: unknown, under: readonly PropertyKey[] = []): string {
  const result = schema.safeParse(value);
  assert.ok(!result.success, "the value was accepted");
  return describeIssue(result.error, under);
}

/** The example desired state with `value` at the dotted `path`. */
function changed(path: string, value: unknown): unknown {
  const copy = structuredClone(DESIRED_STATE) as unknown as Record<string, unknown>;
  const steps = path.split(".");
  const last = present(steps.pop());
  const holder = steps.reduce((at, step) => at[step] as Record<string, unknown>, copy);
  holder[last] = value;
  return copy;
}

const CASES: readonly (readonly [string, unknown, string])[] = [
  ["host.snapshots.retention", 0, "host.snapshots.retention: must be at least 1"],
  ["host.snapshots.retention", 1001, "host.snapshots.retention: must be at most 1000"],
  ["host.snapshots.retention", 1.5, "host.snapshots.retention: must be a whole number"],
  ["host.snapshots.retention", "7", "host.snapshots.retention: must be a number"],
  ["host.snapshots.compress", 1, "host.snapshots.compress: must be true or false"],
  ["host.snapshots.schedule", "daily", "host.snapshots.schedule: is no five-field cron schedule"],
  ["host.ingress", "nginx", 'host.ingress: must be "traefik" or "none"'],
  ["maintenance.timezone", "Europe/Nowhere", "maintenance.timezone: is no IANA time zone"],
  ["maintenance.windows.1.start", "24:00", "maintenance.windows[1].start: is no HH:MM"],
  [
    "maintenance.windows.0.days",
    [],
    "maintenance.windows[0].days: must have at least 1 entry",
  ],
  ["release", "", "release: is no release version"],
  ["secrets.hcloud.zone", "fsn1", "secrets.hcloud: has the unknown field zone"],
  ["addons", {}, "addons: must be a list"],
  ["addons", [...DESIRED_STATE.addons, ...DESIRED_STATE.addons], "addons: names an add-on twice"],
  ["addons.0.name", "Cert Manager", "addons[0].name: is no DNS-1123 label"],
  ["release", "../x", "release: is no release version"],
];

Deno.test("describeIssue: names the place and the rule", () => {
  for (const [path, value, text] of CASES) {
    assert.equal(described(DesiredState, changed(path, value)), text);
  }
});

Deno.test("describeIssue: puts the document's own path in front", () => {
  assert.equal(
    described(DesiredState, changed("host.snapshots.retention", 0), ["desired"]),
    "desired.host.snapshots.retention: must be at least 1",
  );
  assert.equal(described(DesiredState, "x", ["desired"]), "desired: must be an object");
  assert.equal(described(DesiredState, "x"), "must be an object");
});

Deno.test("describeIssue: times, maps and alternatives in words", () => {
  const answer = { ...SYNC_DOCUMENTS.sync_answer, time: "yesterday" };
  assert.equal(described(SyncAnswer, answer), "time: is no RFC 3339 time");
  const untagged = { ...SYNC_DOCUMENTS.sync_answer, desired_tag: "" };
  assert.match(described(SyncAnswer, untagged), /^desired_tag: is not 1 to 128 printable ASCII/);
  const release = present(RELEASES[0]);
  const template = present(release.addons["cert-manager"]);
  assert.equal(
    described(Release, { ...release, addons: { "Not A Label": template } }),
    'addons."Not A Label": has a key that is no DNS-1123 label',
  );
  const unhealthy = { ...release, addons: { x: { ...template, health: [{ pod: "x" }] } } };
  assert.equal(described(Release, unhealthy), "addons.x.health[0]: has none of the allowed forms");
  const exclusive = z.object({ n: z.number().gt(1).lt(3) });
  assert.equal(described(exclusive, { n: 1 }), "n: must be more than 1");
  assert.equal(described(exclusive, { n: 3 }), "n: must be less than 3");
  const short = z.object({ log: z.array(z.string()).max(200) });
  assert.equal(
    described(short, { log: Array(201).fill("") }),
    "log: must have at most 200 entries",
  );
});

Deno.test("describeIssue: never shows a value", () => {
  const secret = "hunter2-in-clear";
  for (const path of ["secrets.hcloud.token", "host.ingress", "maintenance.timezone", "release"]) {
    assert.ok(!described(DesiredState, changed(path, `${secret} !`)).includes(secret), path);
  }
});

Deno.test("describeIssue: is one line of at most 300 characters", () => {
  const text = described(z.strictObject({}), { ["x\n".repeat(500)]: 1 });
  assert.ok(text.length <= 300 && !text.includes("\n") && text.endsWith("..."));
});
