/**
 * Files of the agent that a power cut has emptied, one at a time, with and without the whole temporary
 * file of the write that was under way: the real program recovers or refuses, and stays who it is.
 */
import assert from "node:assert/strict";
import { pause } from "../../e2e/wait.ts";
import type { World } from "../../e2e/world.ts";

const STATE = "/var/lib/pbx-agent";
const CONFIG = "/etc/pbx-agent/config.yaml";

/** An emptied file, and what becomes of the agent. */
interface Case {
  readonly path: string;
  readonly end: "goes on" | "idles" | "is refused";
  /** Whether the loss is reported. */
  readonly lost?: boolean;
}

const WITHOUT_COPY: readonly Case[] = [
  { path: `${STATE}/identity.json`, end: "idles" },
  { path: `${STATE}/bootstrap.json`, end: "goes on" },
  { path: `${STATE}/state.json`, end: "goes on", lost: true },
  { path: `${STATE}/release.json`, end: "goes on" },
  { path: `${STATE}/lock`, end: "goes on" },
  { path: CONFIG, end: "is refused" },
];
const WITH_COPY: readonly string[] = [
  ...["identity", "bootstrap", "state", "release"].map((name) => `${STATE}/${name}.json`),
  CONFIG,
];

/** Each file emptied, one at a time, on a node that is enrolled: it never becomes another one. */
export async function emptyEachFile(world: World): Promise<void> {
  await (await world.startSynced()).stop();
  const good = await snapshot(world);
  const keys = world.agents()[0]?.keys;

  for (const each of WITHOUT_COPY) {
    await restore(world, good);
    await Deno.truncate(world.root + each.path, 0);
    await outcome(world, each);
  }
  for (const path of WITH_COPY) {
    await restore(world, good);
    await world.write(`${path}.tmp`, await world.read(path));
    await Deno.truncate(world.root + path, 0);
    await outcome(world, { path, end: "goes on" });
    // The manifest is only looked at when a desired state comes.
    const back = path === `${STATE}/release.json` || (await world.read(path)).length > 0;
    assert.ok(back, `${path} is not put back`);
  }
  for (const path of WITH_COPY) {
    await restore(world, good);
    await world.write(`${path}.tmp`, "");
    await outcome(world, { path: `${path}.tmp`, end: "goes on" });
  }
  assert.equal(world.requests("/enroll").length, 1, "it enrolls a second time");
  assert.equal(world.agents().length, 1);
  assert.deepEqual(await keysByAdmin(world), keys);
}

/** The keys emptied before the enrollment was answered: they are not made anew. */
export async function emptyFreshKeys(world: World): Promise<void> {
  world.fault({ match: { path: "/enroll" }, count: null, action: { status: 503 } });
  const program = world.start();
  await world.until("a first try", () => world.requests("/enroll").length > 0);
  await program.stop();
  world.mend();
  await Deno.truncate(`${world.root}${STATE}/identity.json`, 0);
  await outcome(world, { path: `${STATE}/identity.json`, end: "idles" });
  assert.equal(world.agents().length, 0);
}

/** Starts the program on the spoiled files and looks at what becomes of it. */
async function outcome(world: World, { path, end, lost = false }: Case): Promise<void> {
  const enrolled = world.requests("/enroll").length;
  const synced = world.requests("/sync").length;
  if (end === "is refused") {
    const { code, stderr } = await world.cli("run");
    assert.equal(code, 78, `${path}: ${stderr}`);
    assert.match(stderr, /config\.yaml/);
    return;
  }
  const program = world.start();
  switch (end) {
    case "idles":
      await program.event("identity_unreadable");
      await pause(500);
      assert.equal(world.requests("/sync").length, synced, `${path}: it asks the portal`);
      assert.equal(JSON.parse((await world.cli("status")).stdout).stage, "identity_unreadable");
      assert.equal((await Deno.stat(world.root + path)).size, 0, "the file is not replaced");
      await program.stop();
      break;
    case "goes on":
      await world.until(
        `a sync without ${path}`,
        () => world.requests("/sync").length > synced + 1,
      );
      assert.equal(program.lines().some(({ event }) => event === "state_lost"), lost, path);
      await program.stop();
      break;
  }
  assert.equal(world.requests("/enroll").length, enrolled, `${path}: it enrolls again`);
}

async function keysByAdmin(world: World): Promise<unknown> {
  const state = await world.admin("GET", "/state") as {
    agents: Record<string, { public_keys: unknown }>;
  };
  return Object.values(state.agents)[0]?.public_keys;
}

type Snapshot = ReadonlyMap<string, string>;

async function snapshot(world: World): Promise<Snapshot> {
  const files = new Map<string, string>();
  for (const folder of [STATE, "/etc/pbx-agent"]) {
    for await (const { name, isFile } of Deno.readDir(world.root + folder)) {
      if (isFile) files.set(`${folder}/${name}`, await world.read(`${folder}/${name}`));
    }
  }
  return files;
}

/** Puts everything back as it was, and takes away what came since. */
async function restore(world: World, good: Snapshot): Promise<void> {
  for (const folder of [STATE, "/etc/pbx-agent"]) {
    for await (const { name, isFile } of Deno.readDir(world.root + folder)) {
      if (isFile && !good.has(`${folder}/${name}`)) {
        await Deno.remove(`${world.root}${folder}/${name}`);
      }
    }
  }
  for (const [path, text] of good) await world.write(path, text);
}
