import assert from "node:assert/strict";
import { snapshotBytes, tokenHash, zipBytes } from "../../adapters/fake/snapshot_bytes.ts";
import type { Disk } from "../../core/ports/disk.ts";
import type { SnapshotFile, SnapshotFileError } from "../../core/ports/snapshot_file.ts";
import type { Result } from "../../core/result.ts";

/** An adapter, and the disk that it works on. */
export interface SnapshotFileWorld {
  readonly files: SnapshotFile;
  readonly disk: Disk;
  /** An empty folder. */
  readonly folder: string;
  close(): Promise<void>;
}

const LOOK = { maxBytes: 10_000_000 };
const UID = "784644b3-b2f8-458e-bcb2-5cccf7d5e019";
const WHOLE = snapshotBytes({
  tokens: ["right", "older"],
  k3sVersion: "v1.36.3+k3s1",
  texts: [UID, '{"image": "v9.9.9+k3s1"}'],
  pages: 100,
});

/** What every {@link SnapshotFile} does. */
export function snapshotFileContract(name: string, open: () => Promise<SnapshotFileWorld>): void {
  const test = (what: string, run: (world: Required<SnapshotFileWorld>) => Promise<void>) =>
    Deno.test(`snapshot file (${name}): ${what}`, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });

  async function inspected(world: SnapshotFileWorld, bytes: Uint8Array, look = LOOK) {
    const path = `${world.folder}/snapshot`;
    assert.ok((await world.disk.write(path, bytes, 0o600)).ok);
    return value(await world.files.inspect(path, look));
  }

  test("a whole plain snapshot tells its size, tokens, versions and texts", async (world) => {
    const look = { ...LOOK, texts: [UID, "11111111-2222"] };
    assert.deepEqual(await inspected(world, WHOLE, look), {
      whole: true,
      facts: {
        kind: "plain",
        size: WHOLE.length,
        plainSize: WHOLE.length,
        tokenHashes: [tokenHash("right"), tokenHash("older")].sort(),
        k3sVersions: ["v1.36.3+k3s1"],
        texts: [UID],
      },
    });
  });

  test("a whole zip tells the same of what is in it", async (world) => {
    for (const store of [false, true]) {
      const zip = zipBytes([{ name: "anything", bytes: WHOLE }], { store });
      const end = await inspected(world, zip, { ...LOOK, texts: [UID] } as typeof LOOK);
      assert.ok(end.whole, JSON.stringify(end));
      const { kind, size, plainSize, tokenHashes, texts } = end.facts;
      assert.deepEqual([kind, size, plainSize], ["zip", zip.length, WHOLE.length]);
      assert.deepEqual([tokenHashes.length, texts], [2, [UID]]);
    }
  });

  test("what is not whole is told, with the reason", async (world) => {
    const flipped = WHOLE.slice();
    flipped[200_000] = (flipped[200_000] ?? 0) ^ 4;
    const noHeader = WHOLE.slice();
    noHeader[17] = 0;
    const zip = zipBytes([{ name: "a", bytes: WHOLE }]);
    const flippedZip = zip.slice();
    flippedZip[200] = (flippedZip[200] ?? 0) ^ 4;
    const two = zipBytes([{ name: "a", bytes: WHOLE }, { name: "b", bytes: WHOLE }]);
    const cases: readonly (readonly [Uint8Array, RegExp])[] = [
      [new Uint8Array(), /^it is empty/],
      [WHOLE.slice(0, -1), /^it ends too early/],
      [WHOLE.slice(0, -32), /^it ends too early/],
      [WHOLE.slice(0, 4096 * 50), /^it ends too early/],
      [WHOLE.slice(0, 4096 * 50 + 32), /SHA-256/],
      [flipped, /SHA-256/],
      [noHeader, /^it is no etcd database/],
      [new TextEncoder().encode("<html>not found</html>".repeat(30)), /^it is no etcd database/],
      [zip.slice(0, -1), /directory of the zip file is/],
      [zip.slice(0, zip.length / 2), /directory of the zip file is/],
      [flippedZip, /damaged|content |SHA-256/],
      [two, /holds 2 files/],
      [zipBytes([]), /no etcd database|holds 0 files/],
      [zipBytes([{ name: "a", bytes: WHOLE }], { wrongCrc: true }), /CRC-32/],
      [zipBytes([{ name: "a", bytes: WHOLE, size: WHOLE.length - 512 }]), /longer than/],
      [zipBytes([{ name: "a", bytes: WHOLE, size: WHOLE.length + 512 }]), /instead of/],
      [zipBytes([{ name: "a", bytes: WHOLE.slice(0, -32) }]), /^it ends too early/],
    ];
    for (const [index, [bytes, why]] of cases.entries()) {
      const end = await inspected(world, bytes);
      const told = end.whole ? "whole" : end.why;
      assert.match(told, why, `case ${index}: ${told}`);
    }
  });

  test("more bytes than allowed are no snapshot, packed or not", async (world) => {
    const look = { maxBytes: WHOLE.length - 1 };
    const zip = zipBytes([{ name: "a", bytes: WHOLE }]);
    for (const bytes of [WHOLE, zip]) {
      assert.equal((await inspected(world, bytes, look)).whole, false);
    }
    assert.equal((await inspected(world, zip, { maxBytes: WHOLE.length })).whole, true);
  });

  test("a file that is not there is missing", async ({ files, folder }) => {
    assert.equal(code(await files.inspect(`${folder}/none`, LOOK)), "missing");
    assert.equal(code(await files.unpack(`${folder}/none`, `${folder}/to`, LOOK)), "missing");
  });

  test("unpack writes what is in the zip, for root alone, whatever its name", async (world) => {
    const { files, disk, folder } = world;
    const [from, to] = [`${folder}/a.zip`, `${folder}/plain`];
    const zip = zipBytes([{ name: "../../../../etc/passwd", bytes: WHOLE }]);
    assert.ok((await disk.write(from, zip, 0o600)).ok);
    assert.ok((await disk.write(to, new TextEncoder().encode("of before"), 0o644)).ok);
    const end = value(await files.unpack(from, to, LOOK));
    assert.ok(end.whole, JSON.stringify(end));
    assert.deepEqual([end.facts.kind, end.facts.size], ["plain", WHOLE.length]);
    const read = await disk.read(to);
    assert.deepEqual(read.ok && read.value, WHOLE);
    const stat = await disk.stat(to);
    assert.equal(stat.ok && stat.value?.mode, 0o600);
    const list = await disk.list(folder);
    assert.deepEqual(list.ok && list.value, ["a.zip", "plain"]);
  });

  test("unpack leaves nothing of what is not whole", async ({ files, disk, folder }) => {
    const [from, to] = [`${folder}/a.zip`, `${folder}/plain`];
    const broken = [
      WHOLE,
      zipBytes([{ name: "a", bytes: WHOLE }], { wrongCrc: true }),
      zipBytes([{ name: "a", bytes: WHOLE.slice(0, -512) }]),
      zipBytes([{ name: "a", bytes: WHOLE, size: 512 }]),
    ];
    for (const bytes of broken) {
      assert.ok((await disk.write(from, bytes, 0o600)).ok);
      assert.equal(value(await files.unpack(from, to, LOOK)).whole, false);
      const stat = await disk.stat(to);
      assert.equal(stat.ok && stat.value, null);
    }
  });

  test("receive writes what comes in pieces, and tells what it was", async (world) => {
    const { files, disk, folder } = world;
    const path = `${folder}/received`;
    const receiver = value(await files.receive(path, { ...LOOK, texts: [UID] }));
    for (let at = 0; at < WHOLE.length; at += 1_000) {
      assert.ok((await receiver.write(WHOLE.subarray(at, at + 1_000))).ok);
    }
    const end = value(await receiver.finish());
    assert.ok(end?.whole === true, JSON.stringify(end));
    assert.deepEqual([end.facts.size, end.facts.texts], [WHOLE.length, [UID]]);
    assert.equal(end.facts.tokenHashes.length, 2);
    const read = await disk.read(path);
    assert.deepEqual(read.ok && read.value, WHOLE);
    const stat = await disk.stat(path);
    assert.equal(stat.ok && stat.value?.mode, 0o600);
  });

  test("receive leaves a zip to unpack, and stops at the limit", async ({ files, folder }) => {
    const zip = zipBytes([{ name: "a", bytes: WHOLE }]);
    const receiver = value(await files.receive(`${folder}/a`, { maxBytes: zip.length }));
    for (const byte of zip.subarray(0, 6)) {
      assert.ok((await receiver.write(Uint8Array.of(byte))).ok);
    }
    assert.ok((await receiver.write(zip.subarray(6))).ok);
    assert.equal(value(await receiver.finish()), null);
    const small = value(await files.receive(`${folder}/b`, { maxBytes: 10 }));
    assert.equal(code(await small.write(new Uint8Array(11))), "io");
    await small.discard();
  });

  test("discard takes the file away", async ({ files, disk, folder }) => {
    const receiver = value(await files.receive(`${folder}/a`, LOOK));
    assert.ok((await receiver.write(WHOLE)).ok);
    await receiver.discard();
    const list = await disk.list(folder);
    assert.deepEqual(list.ok && list.value, []);
  });

  test("a signal stops a look, and progress is told", async ({ files, disk, folder }) => {
    const path = `${folder}/a`;
    assert.ok((await disk.write(path, WHOLE, 0o600)).ok);
    const { signal } = { signal: AbortSignal.abort() };
    assert.equal(code(await files.inspect(path, { ...LOOK, signal })), "stopped");
    const told: (number | null)[] = [];
    const onProgress = (done: number, total: number | null) => void told.push(done, total);
    value(await files.inspect(path, { ...LOOK, onProgress }));
    assert.deepEqual(told.slice(-2), [WHOLE.length, WHOLE.length]);
  });
}

function value<T>(result: Result<T, SnapshotFileError>): T {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

function code(result: Result<unknown, SnapshotFileError>): string {
  assert.ok(!result.ok, JSON.stringify(result));
  return result.error.code;
}
