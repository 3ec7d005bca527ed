import assert from "node:assert/strict";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { createFakeDisk } from "../../../../adapters/fake/disk.ts";
import { hashSnapshot } from "../../../../core/operations/snapshots/hash_snapshot.ts";
import type { Disk } from "../../../../core/ports/disk.ts";
import type { Ports } from "../../../../core/ports/mod.ts";

const FILE = "a-demo-1-1";
const BYTES = new Uint8Array(10).fill(3);

/** The hash of the file on a disk at 2,000 ms, written at 1,000 ms. */
async function hashed(size: number, change: (disk: Disk) => Partial<Disk> = () => ({})) {
  const disk = createFakeDisk({ now: () => 1_000 });
  disk.put(`/snapshots/${FILE}`, BYTES);
  const ports = { disk: { ...disk, ...change(disk) }, clock: { now: () => 2_000.5 } };
  return await hashSnapshot(ports as unknown as Ports, "/snapshots", { file: FILE, size });
}

Deno.test("hashSnapshot: the file of the size that k3s says", async () => {
  assert.deepEqual(await hashed(10), {
    ok: true,
    value: {
      name: FILE,
      size: 10,
      sha256: bytesToHex(sha256(BYTES)),
      modified_ms: 1_000,
      noted_ms: 2_000,
    },
  });
});

Deno.test("hashSnapshot: another size, or a file that changes while it is read, is not noted", async () => {
  const none = { ok: true, value: null };
  const unread = () => Promise.reject(new Error("it is read for nothing"));
  assert.deepEqual(await hashed(11, () => ({ sha256: unread })), none);
  for (const change of [{ size: 11 }, { modifiedAt: 1_001 }]) {
    let looks = 0;
    const found = await hashed(10, (disk) => ({
      async stat(path) {
        const stat = await disk.stat(path);
        if (!stat.ok || stat.value === null || looks++ === 0) return stat;
        return { ok: true, value: { ...stat.value, ...change } };
      },
    }));
    assert.deepEqual(found, none, JSON.stringify(change));
  }
});

Deno.test("hashSnapshot: what cannot be read is an error, what is gone is not", async () => {
  const error = { code: "io", path: FILE, message: "I/O error" } as const;
  const fails = () => Promise.resolve({ ok: false as const, error });
  assert.deepEqual(await hashed(10, () => ({ sha256: fails })), { ok: false, error });
  assert.deepEqual(await hashed(10, () => ({ stat: fails })), { ok: false, error });
  const gone = () => Promise.resolve({ ok: true as const, value: null });
  assert.deepEqual(await hashed(10, () => ({ stat: gone })), { ok: true, value: null });
});
