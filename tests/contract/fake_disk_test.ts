import assert from "node:assert/strict";
import { Cut } from "../../adapters/fake/cut.ts";
import { createFakeDisk, type FakeDisk } from "../../adapters/fake/disk.ts";
import type { CutMoment } from "../../adapters/fake/disk_faults.ts";
import { code, done, utf8 } from "./disk_contract.ts";

/** A disk with `/d/a` ("old", synced) on it. */
function laidOut(): FakeDisk {
  const disk = createFakeDisk({ now: () => 7 });
  disk.put("/d/a", "old");
  return disk;
}

Deno.test("createFakeDisk: a power cut takes a new name whose folder was not synced", async () => {
  const disk = laidOut();
  done(await disk.write("/d/b", utf8("new"), 0o600));
  disk.crash();
  assert.deepEqual(disk.paths(), ["/d/a"]);
});

Deno.test("createFakeDisk: a power cut leaves what was written, synced and named for good", async () => {
  const disk = laidOut();
  done(await disk.write("/d/b", utf8("new"), 0o640));
  done(await disk.syncDirectory("/d"));
  disk.crash();
  assert.equal(disk.text("/d/b"), "new");
  assert.equal(done(await disk.stat("/d/b"))?.mode, 0o640);
  assert.equal(done(await disk.stat("/d/b"))?.modifiedAt, 7);
});

Deno.test("createFakeDisk: a power cut undoes renames and removals, or keeps them", async () => {
  for (const names of ["lost", "kept"] as const) {
    const disk = laidOut();
    disk.put("/d/c", "gone?");
    done(await disk.write("/d/a.tmp", utf8("new"), 0o600));
    done(await disk.rename("/d/a.tmp", "/d/a"));
    done(await disk.remove("/d/c"));
    disk.crash(names);
    assert.equal(disk.text("/d/a"), names === "lost" ? "old" : "new");
    assert.deepEqual(disk.paths(), names === "lost" ? ["/d/a", "/d/c"] : ["/d/a"]);
  }
});

Deno.test("createFakeDisk: tells beforehand what a power cut leaves of a file", async () => {
  const disk = laidOut();
  done(await disk.write("/d/a.tmp", utf8("new"), 0o600));
  done(await disk.rename("/d/a.tmp", "/d/a"));
  assert.equal(disk.lastingText("/d/a"), "old");
  done(await disk.syncDirectory("/d"));
  assert.equal(disk.lastingText("/d/a"), "new");
  done(await disk.append("/d/a", utf8("er"), 0o600));
  assert.equal(disk.text("/d/a"), "newer");
  assert.equal(disk.lastingText("/d/a"), "new");
  assert.equal(disk.lastingText("/d/b"), null);
});

Deno.test("createFakeDisk: a power cut takes appended bytes, whatever the name's fate", async () => {
  const disk = laidOut();
  done(await disk.append("/d/a", utf8(" and more"), 0o600));
  done(await disk.append("/d/log", utf8("line"), 0o600));
  disk.crash("kept");
  assert.equal(disk.text("/d/a"), "old");
  assert.equal(disk.text("/d/log"), "");
});

Deno.test("createFakeDisk: a made folder lasts, what is in it does not by itself", async () => {
  const disk = laidOut();
  done(await disk.makeDirectory("/d/e/f", 0o700));
  done(await disk.write("/d/e/f/x", utf8("x"), 0o600));
  disk.crash();
  assert.deepEqual(done(await disk.list("/d/e")), ["f"]);
  assert.deepEqual(done(await disk.list("/d/e/f")), []);
});

Deno.test("createFakeDisk: a rename between folders never loses the file", async () => {
  for (const synced of ["/d", "/e"]) {
    const disk = laidOut();
    disk.put("/e/z", "");
    done(await disk.rename("/d/a", "/e/a"));
    done(await disk.syncDirectory(synced));
    disk.crash();
    assert.deepEqual(disk.paths(), ["/e/a", "/e/z"], synced);
  }
});

Deno.test("createFakeDisk: a cut falls before, in or after the call, and the agent stays dead", async () => {
  const seen: Record<CutMoment, readonly (string | null)[]> = {
    before: ["old", "old"],
    during: ["ne", ""],
    after: ["news", "news"],
  };
  for (const moment of ["before", "during", "after"] as const) {
    const disk = laidOut();
    disk.cutAt(2, moment);
    done(await disk.read("/d/a"));
    await assert.rejects(disk.write("/d/a", utf8("news"), 0o600), Cut);
    await assert.rejects(disk.remove("/d/a"), Cut);
    assert.equal(disk.isCut(), true);
    const atOnce = disk.text("/d/a");
    disk.crash();
    assert.deepEqual([atOnce, disk.text("/d/a")], seen[moment], moment);
    assert.equal(done(await disk.read("/d/a"))?.length, seen[moment][1]?.length);
  }
});

Deno.test("createFakeDisk: a restart of the process alone loses nothing", async () => {
  const disk = laidOut();
  done(await disk.append("/d/a", utf8("er"), 0o600));
  disk.cutAt(1);
  await assert.rejects(disk.read("/d/a"), Cut);
  disk.restart();
  assert.deepEqual(done(await disk.read("/d/a")), utf8("older"));
});

Deno.test("createFakeDisk: fails the next matching call, once", async () => {
  const disk = laidOut();
  disk.failNext("full", { operation: "rename", path: "/d/b" });
  disk.failNext("io");
  assert.equal(code(await disk.read("/d/a")), "io");
  done(await disk.read("/d/a"));
  done(await disk.rename("/d/a", "/d/c"));
  assert.equal(code(await disk.rename("/d/c", "/d/b")), "full");
  done(await disk.rename("/d/c", "/d/b"));
});

Deno.test("createFakeDisk: a hook sees every call, fails it or cuts it", async () => {
  const disk = laidOut();
  const seen: string[] = [];
  disk.onCall((operation, path) => {
    seen.push(`${operation} ${path}`);
    if (operation === "append") throw new Cut(operation, path);
    return operation === "write" ? "denied" : null;
  });
  assert.equal(code(await disk.write("/d/a", utf8("new"), 0o600)), "denied");
  done(await disk.rename("/d/a", "/d/b"));
  await assert.rejects(disk.append("/d/b", utf8("x"), 0o600), Cut);
  await assert.rejects(disk.read("/d/b"), Cut);
  assert.deepEqual(seen, ["write /d/a", "rename /d/b", "append /d/b"]);
  assert.equal(disk.calls(), 3);
  assert.equal(disk.text("/d/b"), "old");
});

Deno.test("createFakeDisk: a write that finds no room takes its half file away", async () => {
  const disk = laidOut();
  disk.setCapacity(10);
  assert.equal(done(await disk.freeBytes("/d")), 7);
  done(await disk.write("/d/b", new Uint8Array(7), 0o600));
  assert.equal(code(await disk.write("/d/c", utf8("x"), 0o600)), "full");
  assert.equal(code(await disk.append("/d/a", utf8("x"), 0o600)), "full");
  assert.equal(disk.text("/d/a"), "old");
  assert.deepEqual(disk.paths(), ["/d/a", "/d/b"]);
  disk.failNext("full");
  assert.equal(code(await disk.write("/d/b", utf8("x"), 0o600)), "full");
  assert.deepEqual(disk.paths(), ["/d/a"]);
  disk.setCapacity(100);
  done(await disk.append("/d/a", utf8("er"), 0o600));
});

Deno.test("createFakeDisk: takes no change while it is read-only", async () => {
  const disk = laidOut();
  disk.setReadOnly(true);
  assert.equal(code(await disk.write("/d/a", utf8("new"), 0o600)), "read_only");
  assert.equal(code(await disk.append("/d/a", utf8("new"), 0o600)), "read_only");
  assert.equal(code(await disk.rename("/d/a", "/d/b")), "read_only");
  assert.equal(code(await disk.makeDirectory("/d/e", 0o700)), "read_only");
  assert.equal(code(await disk.remove("/d/a")), "read_only");
  done(await disk.makeDirectory("/d", 0o700));
  assert.equal(done(await disk.remove("/d/none")), false);
  assert.deepEqual(done(await disk.read("/d/a")), utf8("old"));
});

Deno.test("createFakeDisk: lists the writes, and none where nothing was written", async () => {
  const disk = laidOut();
  done(await disk.read("/d/a"));
  done(await disk.list("/d"));
  done(await disk.makeDirectory("/d", 0o700));
  done(await disk.remove("/d/none"));
  assert.deepEqual(disk.writes(), []);
  disk.failNext("io", { operation: "write" });
  await disk.write("/d/a.tmp", utf8("x"), 0o600);
  done(await disk.write("/d/a.tmp", utf8("x"), 0o600));
  done(await disk.rename("/d/a.tmp", "/d/a"));
  done(await disk.syncDirectory("/d"));
  assert.deepEqual(disk.writes().map(({ operation, path }) => `${operation} ${path}`), [
    "write /d/a.tmp",
    "write /d/a.tmp",
    "rename /d/a",
    "syncDirectory /d",
  ]);
  disk.forgetWrites();
  assert.deepEqual(disk.writes(), []);
});

Deno.test("createFakeDisk: empties a file on request, for good", () => {
  const disk = laidOut();
  disk.truncate("/d/a");
  disk.crash();
  assert.equal(disk.text("/d/a"), "");
  assert.throws(() => disk.truncate("/d/none"));
});

Deno.test("createFakeDisk: never removes its root", async () => {
  assert.equal(code(await createFakeDisk().remove("/")), "io");
});
