import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { dropIns } from "../../../core/host/drop_ins.ts";
import {
  dropInHashes,
  mayRestart,
  pendingRestart,
  type RestartQuestion,
} from "../../../core/host/restart.ts";
import type { HostSettings, Maintenance } from "../../../core/protocol/desired_state.ts";

function hashes(schedule: string, ingress: HostSettings["ingress"] = "traefik") {
  return dropInHashes(dropIns({ snapshots: { schedule, retention: 5, compress: true }, ingress }));
}

const NIGHTLY: Maintenance = {
  timezone: "Europe/Berlin",
  windows: [{ days: ["sun"], start: "02:30", minutes: 60 }],
};

const QUESTION: RestartQuestion = {
  pending: true,
  maintenance: NIGHTLY,
  now: Date.parse("2026-03-29T01:45:00Z"),
  isCertain: true,
  operationRunning: null,
};

function why(question: Partial<RestartQuestion>): string {
  const decision = mayRestart({ ...QUESTION, ...question });
  return decision.restart ? "it may" : decision.why;
}

Deno.test("dropInHashes: are the SHA-256 of the content's UTF-8, by path", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (content) => {
      assert.deepEqual(dropInHashes([{ path: "/etc/x.yaml", content }]), {
        "/etc/x.yaml": createHash("sha256").update(content, "utf8").digest("hex"),
      });
    }),
    { seed: 20260330 },
  );
});

Deno.test("pendingRestart: names the drop-ins that k3s runs without", () => {
  const running = hashes("0 3 * * *");
  const one = pendingRestart({ current: hashes("0 4 * * *"), running });
  assert.ok(one.pending);
  assert.match(one.reason, /change of 50-pbx-snapshots\.yaml$/);
  const both = pendingRestart({ current: hashes("0 4 * * *", "none"), running });
  assert.ok(both.pending);
  assert.match(both.reason, /50-pbx-ingress\.yaml and 50-pbx-snapshots\.yaml$/);
});

Deno.test("pendingRestart: a drop-in that came or went counts as changed", () => {
  const one = { "/d/a": "1" };
  for (const hashes of [{ current: one, running: {} }, { current: {}, running: one }]) {
    assert.deepEqual(pendingRestart(hashes), {
      pending: true,
      reason: "k3s runs without the change of a",
    });
  }
});

Deno.test("pendingRestart: outlives being stored, and a change back cancels it", () => {
  const running = JSON.parse(JSON.stringify(hashes("0 3 * * *")));
  assert.ok(pendingRestart({ current: hashes("0 4 * * *"), running }).pending);
  assert.deepEqual(pendingRestart({ current: hashes("0 3 * * *"), running }), { pending: false });
});

Deno.test("pendingRestart: before the agent started k3s there is nothing to restart", () => {
  assert.deepEqual(pendingRestart({ current: hashes("0 3 * * *"), running: null }), {
    pending: false,
  });
});

Deno.test("mayRestart: inside a window, with nothing in the way", () => {
  assert.deepEqual(mayRestart(QUESTION), { restart: true });
});

Deno.test("mayRestart: outside it names the next window in its own time and zone", () => {
  const beforeChange = why({ now: Date.parse("2026-03-28T22:00:00Z") });
  assert.match(beforeChange, /opens 2026-03-29 03:30 \(Europe\/Berlin\)$/);
  const afterwards = why({ now: Date.parse("2026-03-29T02:30:00Z") });
  assert.match(afterwards, /opens 2026-04-05 02:30 \(Europe\/Berlin\)$/);
});

Deno.test("mayRestart: never without a pending restart, a desired state or a window", () => {
  assert.match(why({ pending: false }), /no restart of k3s is pending/);
  assert.match(why({ maintenance: null }), /no desired state/);
  assert.match(why({ maintenance: { timezone: "UTC", windows: [] } }), /no maintenance windows/);
});

Deno.test("mayRestart: never under an operation, which it names", () => {
  assert.match(why({ operationRunning: "op-7" }), /operation op-7 is running/);
});
