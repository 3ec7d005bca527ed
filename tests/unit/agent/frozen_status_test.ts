import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { readStatus } from "../../../core/agent/status.ts";
import { loadIdentity } from "../../../core/state/identity.ts";
import { CONFIG_FILE, STATE_DIRECTORY } from "../../../core/state/paths.ts";

const FROZEN = new URL("../../../fixtures/state/", import.meta.url);
const OWNER =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@example.com";
const PORTAL_KEY = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";

/** A node with the frozen files of a version, and more lines in its config.yaml. */
async function nodeOf(version: string, more = "") {
  const disk = createFakeDisk();
  const config = `portal: example.com\ncluster_id: orchard\nnode_name: orchard-1\n${more}`;
  disk.put(CONFIG_FILE, config);
  for (const name of ["identity.json", "bootstrap.json", "state.json"]) {
    const text = await Deno.readTextFile(new URL(`${version}/${name}`, FROZEN));
    disk.put(`${STATE_DIRECTORY}/${name}`, text);
  }
  return disk;
}

for (
  const [version, more, trust] of [
    // From before: nothing in its files or its configuration proves any power.
    ["0.1.0", "", { boxes: "off", answers: "off", approvals: "off" }],
    ["0.1.0", "require: [bound_boxes]\n", { boxes: "required", answers: "off", approvals: "off" }],
    [
      "0.1.0",
      `portal_keys: [${PORTAL_KEY}]\napproval_keys: ["${OWNER}"]\n`,
      { boxes: "off", answers: "required", approvals: "required" },
    ],
    ["0.1.0-trust", "", { boxes: "required", answers: "off", approvals: "off" }],
  ] as const
) {
  Deno.test(`status: files of ${version} and ${more.trim() || "no keys"}: which powers are unproven`, async () => {
    const status = await readStatus(await nodeOf(version, more), () => Promise.resolve("4711001"));
    assert.deepEqual(status.problems, []);
    assert.equal(status.agent_id, "agt_7Qm2xT9c");
    assert.equal(status.stage, "syncing");
    assert.deepEqual(status.trust, trust);
  });
}

Deno.test("identity.json of 0.1.0-trust: all that proves old releases and used approvals is there", async () => {
  const found = await loadIdentity(await nodeOf("0.1.0-trust"));
  assert.ok(found.ok && found.value.kind === "loaded");
  const { releases, used_approvals, s3_target, proven_time } = found.value.value;
  assert.deepEqual(releases?.newest, { sequence: 7, version: "1.4.0" });
  assert.equal(releases?.floor, 3);
  assert.deepEqual(Object.values(used_approvals ?? {}).map(({ use }) => use), [
    "operation",
    "change",
  ]);
  assert.equal(s3_target?.bucket, "orchard-snapshots");
  assert.equal(proven_time, "2026-01-01T12:00:00.000Z");
});

Deno.test("identity.json of 0.1.0: what is new is absent, and nothing is made up for it", async () => {
  const found = await loadIdentity(await nodeOf("0.1.0"));
  assert.ok(found.ok && found.value.kind === "loaded");
  const { releases, used_approvals, s3_target, proven_time } = found.value.value;
  assert.deepEqual([releases, used_approvals, s3_target, proven_time], Array(4).fill(undefined));
});
