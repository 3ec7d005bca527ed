/**
 * Two versions of the program share a node's files during an update, and the older one may get them back:
 * what it can read is frozen in `fixtures/state/<version>/`.
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import type { Disk, DiskError } from "../../../core/ports/disk.ts";
import type { Result } from "../../../core/result.ts";
import { loadBootstrap, saveBootstrap } from "../../../core/state/bootstrap.ts";
import type { Found } from "../../../core/state/durable.ts";
import { loadIdentity, saveIdentity } from "../../../core/state/identity.ts";
import { STATE_DIRECTORY } from "../../../core/state/paths.ts";
import { loadState, openStore } from "../../../core/state/store.ts";
import { readTrial, writeTrial } from "../../../core/update/trial.ts";
import { frozenFiles } from "../../../fixtures/freeze_state.ts";

const FROZEN = new URL("../../../fixtures/state/", import.meta.url);

/** A file as the present program reads it and writes what it has read. */
interface File {
  readonly name: string;
  load(disk: Disk): Promise<Result<Found<unknown>, DiskError>>;
  /** Reads it and writes it again. */
  rewrite(disk: Disk): Promise<unknown>;
}

function file<T>(
  name: string,
  load: (disk: Disk) => Promise<Result<Found<T>, DiskError>>,
  save: (disk: Disk, value: T) => Promise<unknown>,
): File {
  return {
    name,
    load,
    async rewrite(disk) {
      const found = await load(disk);
      assert.ok(found.ok && found.value.kind === "loaded", name);
      await disk.remove(`${STATE_DIRECTORY}/${name}`);
      await save(disk, found.value.value);
    },
  };
}

const FILES: readonly File[] = [
  file("identity.json", loadIdentity, saveIdentity),
  file("bootstrap.json", loadBootstrap, saveBootstrap),
  file("state.json", loadState, (disk, state) => openStore(disk, state, null).flush()),
  file("update.json", readTrial, writeTrial),
];

const versions = (await Array.fromAsync(Deno.readDir(FROZEN))).map(({ name }) => name).sort();

async function frozen(version: string, name: string) {
  return JSON.parse(await Deno.readTextFile(new URL(`${version}/${name}`, FROZEN)));
}

/** Throws, with the place, where the program of `version` cannot read the file. */
async function assertReadableBy(version: string, name: string, document: unknown): Promise<void> {
  const readable = z.fromJSONSchema((await frozen(version, "readable.json"))[name]);
  const read = readable.safeParse(document);
  assert.ok(read.success, `${version} cannot read ${name}: ${read.error?.message}`);
}

function withFile(name: string, document: unknown): FakeDisk {
  const disk = createFakeDisk();
  disk.put(`${STATE_DIRECTORY}/${name}`, JSON.stringify(document));
  return disk;
}

function textOf(disk: FakeDisk, name: string) {
  return JSON.parse(disk.text(`${STATE_DIRECTORY}/${name}`) ?? "null");
}

for (const version of versions) {
  for (const { name, load, rewrite } of FILES) {
    Deno.test(`${name} of ${version}: is read, and what is written of it is read there again`, async () => {
      const document = await frozen(version, name);
      await assertReadableBy(version, name, document);
      const disk = withFile(name, document);
      const found = await load(disk);
      assert.equal(found.ok && found.value.kind, "loaded", JSON.stringify(found));
      await rewrite(disk);
      await assertReadableBy(version, name, textOf(disk, name));
      // Nothing that it knew is forgotten on the way.
      assert.deepEqual(known(textOf(disk, name), document), document);
    });
  }

  Deno.test(`what a present program writes is read by ${version}`, async () => {
    for (const [name, text] of frozenFiles()) {
      if (name !== "readable.json") await assertReadableBy(version, name, JSON.parse(text));
    }
  });
}

/** Objects of the agent's own: in maps every name is data, and what the portal sends has its own rules. */
const PLACES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "identity.json": [
    [],
    ["binding"],
    ["keys"],
    ["next"],
    ["releases"],
    ["releases", "newest"],
    ["s3_target"],
  ],
  "bootstrap.json": [[]],
  "state.json": [
    [],
    ["channels"],
    ["channels", "sync"],
    ["trouble"],
    ["enrollment"],
    ["desired"],
    ["update"],
    ["update", "under_way"],
    ["update", "rolled_back"],
    ["operation"],
  ],
  "update.json": [[], ["rolled_back"]],
};

for (const { name, load } of FILES) {
  Deno.test(`${name}: members that a newer version added are no hindrance`, async () => {
    const document = JSON.parse(frozenFiles().get(name) ?? "null");
    const plain = await load(withFile(name, document));
    for (const place of PLACES[name] ?? []) {
      const newer = structuredClone(document);
      const target = place.reduce((object, key) => object[key], newer);
      target.added_later = { by: ["a newer version"] };
      assert.deepEqual(await load(withFile(name, newer)), plain, place.join("."));
    }
  });
}

/** `document` with no more members than `pattern` has. */
function known(document: unknown, pattern: unknown): unknown {
  if (typeof pattern !== "object" || pattern === null) return document;
  if (typeof document !== "object" || document === null) return document;
  if (Array.isArray(pattern) && Array.isArray(document)) {
    return document.map((item, index) => known(item, pattern[index]));
  }
  const members = new Map(Object.entries(document));
  return Object.fromEntries(
    Object.entries(pattern).filter(([key]) => members.has(key))
      .map(([key, value]) => [key, known(members.get(key), value)]),
  );
}
