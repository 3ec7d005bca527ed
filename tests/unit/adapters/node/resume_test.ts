import assert from "node:assert/strict";
import { resume } from "../../../../adapters/node/resume.ts";

const KB = 1024;
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000];

/** A server each of whose connections brings what `each` says, and is then cut. */
async function download(size: number, each: (connection: number) => number) {
  let total = 0;
  let connections = 0;
  const pauses: number[] = [];
  const got = await resume<string>({
    ask() {
      total = Math.min(size, total + each(connections++));
      return Promise.resolve(
        total === size ? { kind: "whole" } : { kind: "cut", error: "it was cut" },
      );
    },
    total: () => total,
    size,
    pausesMs: PAUSES_MS,
    longestMs: Infinity,
    pause(ms) {
      pauses.push(ms);
      return Promise.resolve(true);
    },
    stopped: () => "stopped",
    tooSlow: (_, connections) => `too slow after ${connections}`,
  });
  return { got, connections, pauses };
}

Deno.test("resume: one byte for each connection ends after a number of them, with pauses that grow", async () => {
  const { got, connections, pauses } = await download(1024 * KB * KB, () => 1);
  assert.deepEqual(got, { ok: false, error: "too slow after 50" });
  assert.equal(connections, 50);
  assert.deepEqual(pauses.slice(0, 6), [1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
});

Deno.test("resume: what brings nothing now and then is no way around", async () => {
  const { got, connections } = await download(1024 * KB * KB, (connection) => connection % 2);
  assert.deepEqual(got, { ok: false, error: "too slow after 50" });
  assert.equal(connections, 50);
});

Deno.test("resume: connections that bring 64 KiB each follow each other at once, however many", async () => {
  const { got, connections, pauses } = await download(64 * KB * 5_000, () => 64 * KB);
  assert.ok(got.ok);
  assert.equal(connections, 5_000);
  assert.deepEqual(pauses, []);
});

Deno.test("resume: a slow server that goes on steadily is waited for to the end", async () => {
  const { got, connections, pauses } = await download(2_000 * KB, () => 2 * KB);
  assert.ok(got.ok);
  assert.equal(connections, 1_000);
  assert.ok(pauses.every((ms) => ms <= 8_000));
});

Deno.test("resume: of a small file a sixteenth is progress, so that it ends quickly whatever it takes", async () => {
  for (const size of [10, 100, 4_000]) {
    const { got, connections } = await download(size, () => Math.ceil(size / 16));
    assert.ok(got.ok);
    assert.ok(connections <= 16);
  }
});

Deno.test("resume: five connections in a row that bring nothing end it with their error", async () => {
  const { got, connections, pauses } = await download(1_000, () => 0);
  assert.deepEqual(got, { ok: false, error: "it was cut" });
  assert.equal(connections, 5);
  assert.deepEqual(pauses, PAUSES_MS);
});
