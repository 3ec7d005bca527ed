import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { PROGRAM_FILE } from "../../../core/state/paths.ts";
import type { World } from "./world.ts";
import { live, offer, updating } from "./updating.ts";

/** A program of version 0.2.0; programs with other marks have the same size. */
const marked = (mark: string, version = "0.2.0") =>
  `pbx-agent ${version}\nrelease keys: ${mark.repeat(16)}\n`;
const FIRST = marked("a");

/** What release B has in common with A, whose program is being fetched when B is wanted. */
const TABLE = [
  { what: "the version string and the size", text: marked("b") },
  { what: "the version string", text: `${marked("b")}longer\n` },
  { what: "the size", text: marked("b", "0.3.0"), version: "0.3.0" },
  { what: "the URL, the version string and the size", text: marked("b"), file: "2.0.0" },
  { what: "nothing", text: `${marked("b", "0.3.0")}longer\n`, version: "0.3.0" },
] as const;

/** Downloads last minutes, so that another release is wanted in between; gives how they ended. */
async function slow(world: World): Promise<readonly string[]> {
  await world.stop();
  const ends: string[] = [];
  const { fetch } = world.artifacts;
  world.artifacts.fetch = async (artifact, path, how) => {
    await world.clock.sleep(200_000, how.signal);
    if (how.signal?.aborted) ends.push(`dropped ${artifact.sha256}`);
    const got = await fetch(artifact, path, how);
    if (got.ok) ends.push(`whole ${artifact.sha256}`);
    return got;
  };
  world.start();
  return ends;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

for (const { what, text, ...more } of TABLE) {
  Deno.test(`mixed releases: a download begun for one is nothing to another that has ${what} in common`, async () => {
    const world = await updating(FIRST);
    const ends = await slow(world);
    await world.pass(40_000);
    assert.equal(world.stored().update.under_way.step, "fetch");
    const { version = "0.2.0", file = "2.0.1" }: { version?: string; file?: string } = more;
    offer(world, "2.0.1", version, text, file);
    await live(world, 700_000);
    assert.equal(world.disk.text(PROGRAM_FILE), text);
    assert.deepEqual(ends.slice(0, 2), [`dropped ${sha256(FIRST)}`, `whole ${sha256(text)}`]);
    await world.stop();
  });
}

Deno.test("mixed releases: the end of one's download is not told of another whose manifest names another place", async () => {
  const world = await updating(FIRST);
  world.artifacts.files.set("https://files.example.com/2.0.0", { status: 404 });
  const ends = await slow(world);
  await world.pass(40_000);
  offer(world, "2.0.1", "0.2.0", FIRST);
  await live(world, 700_000);
  assert.equal(world.disk.text(PROGRAM_FILE), FIRST);
  assert.deepEqual(ends.slice(0, 2), [`dropped ${sha256(FIRST)}`, `whole ${sha256(FIRST)}`]);
  await world.stop();
});

Deno.test("mixed releases: a fetched program that became another release's on disk is not run", async () => {
  const world = await updating(FIRST);
  await world.stop();
  const { fetch } = world.artifacts;
  let fetches = 0;
  world.artifacts.fetch = async (artifact, path, how) => {
    const got = await fetch(artifact, path, how);
    if (++fetches === 1) world.disk.put(path, marked("b"), 0o755);
    return got;
  };
  world.start();
  await live(world, 700_000);
  assert.equal(fetches, 2);
  assert.equal(world.disk.text(PROGRAM_FILE), FIRST);
  await world.stop();
});
