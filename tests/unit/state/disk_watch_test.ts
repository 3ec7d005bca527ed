import assert from "node:assert/strict";
import { createFakeClock } from "../../../adapters/fake/clock.ts";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import type { Disk } from "../../../core/ports/disk.ts";
import { watchDisk } from "../../../core/state/disk_watch.ts";

const BYTES = new Uint8Array(1);

function setUp() {
  const clock = createFakeClock();
  const disk = createFakeDisk();
  disk.put("/d/a", "a");
  return { clock, disk, watched: watchDisk(disk, clock) };
}

Deno.test("watchDisk: every kind of write that fails for want of room is trouble until it succeeds", async () => {
  const calls: [string, (disk: Disk) => Promise<{ readonly ok: boolean }>][] = [
    ["write", (disk) => disk.write("/d/b", BYTES, 0o600)],
    ["append", (disk) => disk.append("/d/b", BYTES, 0o600)],
    ["rename", (disk) => disk.rename("/d/a", "/d/b")],
    ["syncDirectory", (disk) => disk.syncDirectory("/d")],
    ["makeDirectory", (disk) => disk.makeDirectory("/d/c", 0o700)],
    ["remove", (disk) => disk.remove("/d/a")],
  ];
  for (const [name, call] of calls) {
    for (const code of ["full", "read_only"] as const) {
      const { disk, watched } = setUp();
      disk.failNext(code);
      assert.equal((await call(watched.disk)).ok, false);
      assert.equal(watched.trouble()?.code, code, name);
      assert.equal((await call(watched.disk)).ok, true, name);
      assert.equal(watched.trouble(), null, name);
    }
  }
});

Deno.test("watchDisk: other failures and reads are no such trouble", async () => {
  const { disk, watched } = setUp();
  for (const code of ["io", "denied", "missing"] as const) {
    disk.failNext(code);
    await watched.disk.write("/d/b", BYTES, 0o600);
  }
  disk.failNext("full");
  await watched.disk.read("/d/a");
  assert.equal(watched.trouble(), null);
});

Deno.test("watchDisk: the oldest failure is told, and each goes with its own path", async () => {
  const { disk, watched } = setUp();
  disk.failNext("full", { path: "/d/b" });
  disk.failNext("read_only", { path: "/d/c" });
  await watched.disk.write("/d/b", BYTES, 0o600);
  await watched.disk.write("/d/c", BYTES, 0o600);
  assert.equal(watched.trouble()?.path, "/d/b");
  await watched.disk.write("/d/b", BYTES, 0o600);
  assert.equal(watched.trouble()?.path, "/d/c");
});

Deno.test("watchDisk: a write that nobody tries again for two minutes is no trouble any more", async () => {
  const { clock, disk, watched } = setUp();
  disk.setReadOnly(true);
  await watched.disk.write("/d/b", BYTES, 0o600);
  await clock.advance(100_000);
  await watched.disk.write("/d/b", BYTES, 0o600);
  await clock.advance(119_999);
  assert.equal(watched.trouble()?.path, "/d/b");
  await clock.advance(1);
  assert.equal(watched.trouble(), null);
});
