import assert from "node:assert/strict";
import { Cut } from "../../../adapters/fake/cut.ts";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import {
  type Found,
  type Parse,
  readDocument,
  writeDocument,
} from "../../../core/state/durable.ts";
import { partOf } from "../part_of.ts";

const PATH = "/var/lib/pbx-agent/document";
const OLD = "old content, whole";
const NEW = "new content, whole and longer than the old one";

/** Takes texts that end in "whole" or hold "longer": half of one is neither. */
const parse: Parse<string> = (bytes) => {
  const text = new TextDecoder().decode(bytes);
  if (text === "newer") return { kind: "newer", format: 2 };
  return text === OLD || text === NEW
    ? { kind: "loaded", value: text }
    : { kind: "unreadable", reason: "is half a document" };
};

function diskWith(files: Record<string, string>): FakeDisk {
  const disk = createFakeDisk();
  disk.put("/var/lib/keep", "");
  for (const [path, text] of Object.entries(files)) disk.put(path, text);
  return disk;
}

async function read(disk: FakeDisk): Promise<Found<string>> {
  const found = await readDocument(disk, PATH, parse);
  assert.ok(found.ok);
  return found.value;
}

function write(disk: FakeDisk): Promise<unknown> {
  return writeDocument(disk, PATH, new TextEncoder().encode(NEW));
}

/** Calls that one write makes; each can be cut before, in its middle and after. */
const CALLS = 4;
const MOMENTS = ["before", "during", "after"] as const;

Deno.test("writeDocument: after a crash anywhere the reader gets the old or the new, whole", async () => {
  for (const before of [OLD, null]) {
    for (let call = 1; call <= CALLS; call++) {
      for (const moment of MOMENTS) {
        for (const power of [null, "lost", "kept"] as const) {
          const disk = diskWith(before === null ? {} : { [PATH]: before });
          disk.cutAt(call, moment);
          await assert.rejects(write(disk), Cut);
          if (power === null) disk.restart();
          else disk.crash(power);
          const shown = `${before} ${call} ${moment} ${power}`;
          const found = await read(disk);
          const text = found.kind === "loaded" ? found.value : found.kind;
          assert.ok([NEW, before ?? "absent"].includes(text), `${shown}: ${text}`);
          // And what was read once is read again, with nothing left of the write.
          assert.deepEqual(await read(disk), found, shown);
          if (found.kind === "loaded") assert.equal(disk.text(`${PATH}.tmp`), null, shown);
        }
      }
    }
  }
});

Deno.test("writeDocument: once it returned, a power cut changes nothing", async () => {
  for (const names of ["lost", "kept"] as const) {
    const disk = diskWith({ [PATH]: OLD });
    await write(disk);
    disk.crash(names);
    assert.deepEqual(await read(disk), { kind: "loaded", value: NEW });
  }
});

Deno.test("writeDocument: a write that fails leaves the old content readable", async () => {
  for (const operation of ["makeDirectory", "write", "rename", "syncDirectory"] as const) {
    for (const code of ["full", "read_only", "io", "denied"] as const) {
      const disk = diskWith({ [PATH]: OLD });
      disk.failNext(code, { operation });
      const written = await writeDocument(disk, PATH, new TextEncoder().encode(NEW));
      assert.equal(written.ok ? "ok" : written.error.code, code, operation);
      const found = await read(disk);
      const expected = operation === "syncDirectory" ? NEW : OLD;
      assert.deepEqual(found, { kind: "loaded", value: expected }, `${operation} ${code}`);
    }
  }
});

Deno.test("writeDocument: final mode from the creation of the temporary file, its folder 0700", async () => {
  const disk = diskWith({});
  const modes: (number | undefined)[] = [];
  disk.cutAt(2, "during");
  await assert.rejects(write(disk), Cut);
  disk.restart();
  for (const path of [`${PATH}.tmp`, "/var/lib/pbx-agent"]) {
    const stat = await disk.stat(path);
    modes.push(stat.ok ? stat.value?.mode : undefined);
  }
  assert.deepEqual(modes, [0o600, 0o700]);
});

Deno.test("readDocument: which of the two files counts", async () => {
  const loaded = (value: string) => ({ kind: "loaded", value });
  const table: [string | null, string | null, Record<string, unknown>, string | null][] = [
    // The file, its temporary file, what is found, and what the file holds afterwards.
    [null, null, { kind: "absent" }, null],
    [OLD, null, loaded(OLD), OLD],
    [OLD, NEW, loaded(OLD), OLD],
    [OLD, "half", loaded(OLD), OLD],
    [OLD, "newer", loaded(OLD), OLD],
    [null, NEW, loaded(NEW), NEW],
    ["", NEW, loaded(NEW), NEW],
    ["half", NEW, loaded(NEW), NEW],
    ["", null, { kind: "unreadable" }, ""],
    ["", "", { kind: "unreadable" }, ""],
    ["half", "half", { kind: "unreadable" }, "half"],
    [null, "half", { kind: "absent" }, null],
    ["newer", null, { kind: "newer", format: 2 }, "newer"],
    ["newer", NEW, { kind: "newer", format: 2 }, "newer"],
    ["half", "newer", { kind: "newer", format: 2 }, "newer"],
  ];
  for (const [main, copy, expected, after] of table) {
    const disk = diskWith({
      ...(main === null ? {} : { [PATH]: main }),
      ...(copy === null ? {} : { [`${PATH}.tmp`]: copy }),
    });
    const shown = `${main} beside ${copy}`;
    assert.deepEqual(partOf(await read(disk), expected), expected, shown);
    assert.equal(disk.text(PATH), after, shown);
    if (main === OLD) assert.equal(disk.text(`${PATH}.tmp`), null, shown);
    if (main === "newer") assert.equal(disk.text(`${PATH}.tmp`), copy, shown);
  }
});

Deno.test("readDocument: a disk error is told, unless the document itself was read", async () => {
  const disk = diskWith({ [PATH]: OLD });
  disk.failNext("io", { operation: "read", path: PATH });
  assert.equal((await readDocument(disk, PATH, parse)).ok, false);
  disk.failNext("io", { operation: "read", path: `${PATH}.tmp` });
  assert.deepEqual(await read(disk), { kind: "loaded", value: OLD });
  const empty = diskWith({});
  empty.failNext("io", { operation: "read", path: `${PATH}.tmp` });
  assert.equal((await readDocument(empty, PATH, parse)).ok, false);
});

Deno.test("readDocument: takes the temporary file where nothing can be written, too", async () => {
  const disk = diskWith({ [PATH]: "", [`${PATH}.tmp`]: NEW });
  disk.setReadOnly(true);
  assert.deepEqual(await read(disk), { kind: "loaded", value: NEW });
});
