import assert from "node:assert/strict";
import type { Disk, DiskError } from "../../core/ports/disk.ts";
import type { Result } from "../../core/result.ts";

/** A disk to be tried out. */
export interface DiskUnderTest {
  readonly disk: Disk;
  /** An empty folder on it. */
  readonly folder: string;
  /** Cleans up after the test. */
  dispose(): Promise<void>;
}

const SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/** Registers the contract of the disk port for one adapter; `subject` names it in the tests. */
export function diskContract(subject: string, make: () => Promise<DiskUnderTest>): void {
  function check(behaviour: string, body: (disk: Disk, folder: string) => Promise<void>): void {
    Deno.test(`${subject}: ${behaviour}`, async () => {
      const { disk, folder, dispose } = await make();
      try {
        await body(disk, folder);
      } finally {
        await dispose();
      }
    });
  }

  check("reads back what was written, and replaces it", async (disk, folder) => {
    const path = `${folder}/a`;
    for (const content of ["a long first content", "short", ""]) {
      done(await disk.write(path, utf8(content), 0o600));
      assert.equal(await text(disk, path), content);
    }
  });

  check("keeps bytes as they are, also many of them", async (disk, folder) => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256);
    done(await disk.write(`${folder}/a`, bytes, 0o600));
    assert.deepEqual(done(await disk.read(`${folder}/a`)), bytes);
  });

  check("hands out copies, not its own bytes", async (disk, folder) => {
    const bytes = utf8("abc");
    done(await disk.write(`${folder}/a`, bytes, 0o600));
    bytes[0] = 0;
    done(await disk.read(`${folder}/a`))?.fill(0);
    assert.equal(await text(disk, `${folder}/a`), "abc");
  });

  check("gives null for what is not there", async (disk, folder) => {
    done(await disk.write(`${folder}/file`, utf8("x"), 0o600));
    for (const path of [`${folder}/none`, `${folder}/none/deeper`, `${folder}/file/below`]) {
      assert.equal(done(await disk.read(path)), null, path);
      assert.equal(done(await disk.stat(path)), null, path);
      assert.equal(done(await disk.sha256(path)), null, path);
      assert.equal(done(await disk.list(path)), null, path);
    }
    assert.equal(done(await disk.list(`${folder}/file`)), null);
  });

  check("reads no more than it may", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("12345"), 0o600));
    assert.equal(done(await disk.read(`${folder}/a`, 5))?.length, 5);
    assert.equal(code(await disk.read(`${folder}/a`, 4)), "too_large");
    assert.equal(code(await disk.read(`${folder}/a`, 0)), "too_large");
  });

  check("gives a file exactly the mode asked for", async (disk, folder) => {
    for (const mode of [0o600, 0o644, 0o666, 0o755, 0o777]) {
      const path = `${folder}/${mode.toString(8)}`;
      done(await disk.write(path, utf8("x"), mode));
      assert.equal(done(await disk.stat(path))?.mode, mode);
      done(await disk.append(`${path}.log`, utf8("x"), mode));
      assert.equal(done(await disk.stat(`${path}.log`))?.mode, mode);
    }
  });

  check("says who may use a file or folder, and changes that", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("x"), 0o644));
    done(await disk.makeDirectory(`${folder}/b`, 0o755));
    const isOwn = true;
    assert.deepEqual(done(await disk.inspect(`${folder}/a`)), { kind: "file", mode: 0o644, isOwn });
    for (const [path, kind, mode] of [["a", "file", 0o600], ["b", "directory", 0o700]] as const) {
      done(await disk.restrict(`${folder}/${path}`, mode));
      assert.deepEqual(done(await disk.inspect(`${folder}/${path}`)), { kind, mode, isOwn });
    }
    assert.equal(await text(disk, `${folder}/a`), "x");
    assert.equal(done(await disk.inspect(`${folder}/none`)), null);
    assert.equal(code(await disk.restrict(`${folder}/none`, 0o600)), "missing");
  });

  check("gives a file that was there the new mode", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("public"), 0o644));
    done(await disk.write(`${folder}/a`, utf8("secret"), 0o600));
    assert.equal(done(await disk.stat(`${folder}/a`))?.mode, 0o600);
  });

  check("appends, and leaves the mode of a file that was there", async (disk, folder) => {
    done(await disk.append(`${folder}/log`, utf8("one\n"), 0o600));
    done(await disk.append(`${folder}/log`, utf8("two\n"), 0o644));
    assert.equal(await text(disk, `${folder}/log`), "one\ntwo\n");
    assert.equal(done(await disk.stat(`${folder}/log`))?.mode, 0o600);
  });

  check("renames, and replaces the target", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("new"), 0o600));
    done(await disk.write(`${folder}/b`, utf8("old"), 0o644));
    done(await disk.rename(`${folder}/a`, `${folder}/b`));
    assert.deepEqual(done(await disk.list(folder)), ["b"]);
    assert.equal(await text(disk, `${folder}/b`), "new");
    assert.equal(done(await disk.stat(`${folder}/b`))?.mode, 0o600);
  });

  check("renames into another folder, and folders with all in them", async (disk, folder) => {
    done(await disk.makeDirectory(`${folder}/one`, 0o700));
    done(await disk.makeDirectory(`${folder}/two`, 0o700));
    done(await disk.write(`${folder}/one/a`, utf8("x"), 0o600));
    done(await disk.rename(`${folder}/one`, `${folder}/two/three`));
    assert.equal(await text(disk, `${folder}/two/three/a`), "x");
    assert.deepEqual(done(await disk.list(folder)), ["two"]);
  });

  check("says missing where a parent or a source is not there", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("x"), 0o600));
    assert.equal(code(await disk.write(`${folder}/none/a`, utf8("x"), 0o600)), "missing");
    assert.equal(code(await disk.write(`${folder}/a/below`, utf8("x"), 0o600)), "missing");
    assert.equal(code(await disk.append(`${folder}/none/a`, utf8("x"), 0o600)), "missing");
    assert.equal(code(await disk.rename(`${folder}/none`, `${folder}/b`)), "missing");
    assert.equal(code(await disk.rename(`${folder}/a`, `${folder}/none/b`)), "missing");
    assert.equal(code(await disk.syncDirectory(`${folder}/none`)), "missing");
    assert.equal(code(await disk.syncDirectory(`${folder}/a`)), "missing");
    assert.equal(code(await disk.freeBytes(`${folder}/none`)), "missing");
    assert.deepEqual(done(await disk.list(folder)), ["a"]);
  });

  check("makes a folder with its parents and leaves one that exists", async (disk, folder) => {
    done(await disk.makeDirectory(`${folder}/a/b/c`, 0o777));
    done(await disk.makeDirectory(`${folder}/a/b`, 0o700));
    for (const path of ["a", "a/b", "a/b/c"]) {
      const found = done(await disk.stat(`${folder}/${path}`));
      assert.deepEqual([found?.kind, found?.mode], ["directory", 0o777], path);
    }
    done(await disk.write(`${folder}/file`, utf8("x"), 0o600));
    assert.equal(code(await disk.makeDirectory(`${folder}/file`, 0o700)), "io");
    assert.equal(code(await disk.makeDirectory(`${folder}/file/below`, 0o700)), "io");
  });

  check("syncs a folder", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("x"), 0o600));
    done(await disk.syncDirectory(folder));
  });

  check("removes files and whole folders, and says whether there was one", async (disk, folder) => {
    done(await disk.makeDirectory(`${folder}/a/b`, 0o700));
    done(await disk.write(`${folder}/a/b/c`, utf8("x"), 0o600));
    done(await disk.write(`${folder}/d`, utf8("x"), 0o600));
    for (const path of [`${folder}/a`, `${folder}/d`]) {
      assert.equal(done(await disk.remove(path)), true);
      assert.equal(done(await disk.remove(path)), false);
    }
    assert.equal(done(await disk.remove(`${folder}/none/deeper`)), false);
    assert.deepEqual(done(await disk.list(folder)), []);
  });

  check("lists names in order", async (disk, folder) => {
    for (const name of ["b", "a.tmp", "Z", "é", "a"]) {
      done(await disk.write(`${folder}/${name}`, utf8(name), 0o600));
    }
    assert.deepEqual(done(await disk.list(folder)), ["Z", "a", "a.tmp", "b", "é"]);
  });

  check("tells what a file and a folder are", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("12345"), 0o640));
    const file = done(await disk.stat(`${folder}/a`));
    assert.deepEqual([file?.kind, file?.size, file?.mode], ["file", 5, 0o640]);
    assert.ok(Number.isSafeInteger(file?.modifiedAt));
    assert.equal(done(await disk.stat(folder))?.kind, "directory");
  });

  check("hashes a file", async (disk, folder) => {
    done(await disk.write(`${folder}/a`, utf8("abc"), 0o600));
    assert.equal(done(await disk.sha256(`${folder}/a`)), SHA256_OF_ABC);
  });

  check("takes a folder for no file", async (disk, folder) => {
    assert.equal(code(await disk.read(folder)), "io");
    assert.equal(code(await disk.sha256(folder)), "io");
    assert.equal(code(await disk.write(folder, utf8("x"), 0o600)), "io");
    assert.equal(code(await disk.append(folder, utf8("x"), 0o600)), "io");
  });

  check("tells the free room", async (disk, folder) => {
    const free = done(await disk.freeBytes(folder));
    assert.ok(Number.isSafeInteger(free) && free > 0, String(free));
  });

  check("refuses a path that is relative or climbs", async (disk, folder) => {
    for (const path of ["a", "", `${folder}/../a`, `${folder}/./a`, `${folder}/a\0b`]) {
      assert.equal(code(await disk.read(path)), "io", path);
      assert.equal(code(await disk.write(path, utf8("x"), 0o600)), "io", path);
      assert.equal(code(await disk.remove(path)), "io", path);
      assert.equal(code(await disk.rename(path, `${folder}/b`)), "io", path);
      assert.equal(code(await disk.rename(`${folder}/b`, path)), "io", path);
    }
    assert.deepEqual(done(await disk.list(folder)), []);
  });

  check("names the path and the action in an error", async (disk, folder) => {
    const path = `${folder}/none/a`;
    const result = await disk.write(path, utf8("x"), 0o600);
    assert.ok(!result.ok);
    assert.equal(result.error.path, path);
    assert.match(result.error.message, /^cannot write .*none\/a: ./);
  });
}

/** The value of a call that has to succeed. */
export function done<T>(result: Result<T, DiskError>): T {
  assert.ok(result.ok, result.ok ? "" : result.error.message);
  return result.value;
}

/** The code of a call that has to fail. */
export function code(result: Result<unknown, DiskError>): DiskError["code"] {
  assert.ok(!result.ok, "the call should have failed");
  return result.error.code;
}

/** The bytes of a text. */
export function utf8(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

async function text(disk: Disk, path: string): Promise<string | null> {
  const bytes = done(await disk.read(path));
  return bytes === null ? null : new TextDecoder().decode(bytes);
}
