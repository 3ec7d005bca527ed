import assert from "node:assert/strict";
import { loadBootstrap } from "../../core/state/bootstrap.ts";
import { parseConfig, withoutToken } from "../../core/state/config.ts";
import { loadIdentity } from "../../core/state/identity.ts";
import { loadState } from "../../core/state/store.ts";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { readStatus } from "../../core/agent/status.ts";
import { PLAIN, WORDS } from "./documents.ts";
import { type Dice, fuzz, SEED } from "./fuzz.ts";
import { assertHarmless, enrolled } from "./live.ts";
import { mutate } from "./mutate.ts";
import { mutateBytes } from "./mutate_bytes.ts";
import { json } from "./replies.ts";
import { createWorld, type World } from "./world.ts";

const DIRECTORY = "/var/lib/pbx-agent";
const JSON_FILES = ["identity.json", "bootstrap.json", "state.json", "release.json"] as const;
type JsonFile = (typeof JSON_FILES)[number];

Deno.test("loadIdentity, loadBootstrap, loadState, readStatus: 1,200 spoiled files", async () => {
  const good = await goodFiles();
  await fuzz("files", 1_200, async (dice) => {
    const disk = createFakeDisk();
    const name = dice.pick(JSON_FILES);
    disk.put(`${DIRECTORY}/${name}`, spoiled(dice, good, name));
    if (dice.chance(30)) disk.put(`${DIRECTORY}/${name}.tmp`, spoiled(dice, good, name));
    for (const load of [loadIdentity, loadBootstrap, loadState]) {
      assert.ok((await load(disk)).ok);
    }
    const status = JSON.stringify(await readStatus(disk));
    for (const word of Object.values(PLAIN)) assert.ok(!status.includes(word));
  });
});

Deno.test("parseConfig, withoutToken: 900 spoiled configurations", async () => {
  const token = PLAIN["enrollment"] ?? "";
  let taken = 0;
  await fuzz("config.yaml", 900, (dice) => {
    const text = new TextDecoder().decode(spoiledConfig(dice, token));
    const config = parseConfig(text);
    if (!config.ok) {
      assert.ok(config.error.length > 0 && config.error.length < 100_000);
      return;
    }
    taken++;
    const rest = withoutToken(text);
    if (config.value.enrollmentToken === undefined) return;
    assert.ok(rest !== null);
    const left = parseConfig(rest);
    assert.ok(left.ok, `what is left is refused: ${left.ok ? "" : left.error}`);
    const { enrollmentToken: _token, ...others } = config.value;
    assert.deepEqual({ ...left.value }, { ...others });
  });
  assert.ok(taken > 50, `${taken} were taken`);
});

Deno.test("runAgent: 250 starts on spoiled files, and never with a fresh identity", async () => {
  const good = await goodFiles();
  const keys = JSON.parse(good["identity.json"]).keys;
  let served = 0;
  await fuzz("agent, files", 250, async (dice, index) => {
    const world = createWorld(SEED + index);
    for (const name of JSON_FILES) world.disk.put(`${DIRECTORY}/${name}`, good[name]);
    world.disk.put("/etc/rancher/k3s/config.yaml", "token: x\n");
    const name = dice.pick(JSON_FILES);
    const bytes = spoiled(dice, good, name);
    world.disk.put(`${DIRECTORY}/${name}`, bytes);
    if (dice.chance(30)) world.disk.put(`${DIRECTORY}/${name}.tmp`, good[name]);
    world.forget();
    const original = createdIdentity(world);
    world.answerWith(({ question }) =>
      question === "sync" && original() !== null
        ? json(200, world.documents().syncAnswer(1_000 + index, true))
        : undefined
    );
    world.start();
    const synced = await world.until(
      () => world.asked.filter(({ question }) => question === "sync").length > 1,
      200_000,
    );
    if (synced) served++;
    assert.ok(
      world.asked.every(({ question }) => question !== "enroll"),
      `${name}: it enrolls a second time`,
    );
    const after = world.disk.text(`${DIRECTORY}/identity.json`);
    if (name !== "identity.json") assert.deepEqual(JSON.parse(after ?? "{}").keys, keys);
    else if (!synced) assert.equal(after, new TextDecoder().decode(bytes), "it was replaced");
    await assertHarmlessFiles(world);
    await world.stop();
  });
  assert.ok(served > 80, `${served} of 250 went on`);
});

/** What a healthy agent has on its disk. */
async function goodFiles(): Promise<Record<JsonFile, string>> {
  const world = await enrolled(SEED);
  const good = world.documents().syncAnswer(1);
  world.answerWith(({ question }) => question === "sync" ? json(200, good) : undefined);
  assert.ok(await world.until(() => world.disk.text(`${DIRECTORY}/release.json`) !== null));
  await world.clock.advance(60_000);
  await world.stop();
  await assertHarmless(world);
  const text = (name: JsonFile) => world.disk.text(`${DIRECTORY}/${name}`) ?? "";
  return {
    "identity.json": text("identity.json"),
    "bootstrap.json": text("bootstrap.json"),
    "state.json": text("state.json"),
    "release.json": text("release.json"),
  };
}

function createdIdentity(world: World): () => string | null {
  return () => {
    const text = world.disk.text(`${DIRECTORY}/identity.json`);
    try {
      return JSON.parse(text ?? "null")?.keys?.sealing ?? null;
    } catch {
      return null;
    }
  };
}

function spoiled(dice: Dice, good: Record<JsonFile, string>, name: JsonFile): Uint8Array {
  if (dice.chance(5)) return new Uint8Array();
  if (dice.chance(30)) return mutateBytes(dice, new TextEncoder().encode(good[name]));
  // A secret in clear on the disk was put there by root: what counts here is that nothing breaks.
  return mutate(dice, JSON.parse(good[name]), { ...WORDS, plain: ["in clear"] });
}

function spoiledConfig(dice: Dice, token: string): Uint8Array {
  const lines = [
    "# written by cloud-init",
    `portal: ${
      dice.pick(["example.com", "https://a.example.com/agent/v1", "http://127.0.0.1:1/x"])
    }`,
    `cluster_id: ${dice.pick(["orchard", '"orchard"', "!!str orchard"])}`,
    "node_name: orchard-1 # the first",
    `enrollment_token: ${dice.pick([token, `"${token}"`, `>-\n  ${token}`, `&a ${token}`])}`,
    "ca_file: /etc/ssl/ca.pem",
    dice.pick(["", "other: [1, 2]", "x: *a", "a: &x [*x]", "<<: {portal: x}", "? {a: b}\n: c"]),
    dice.pick(["", "deep: " + "[".repeat(5_000), "- ".repeat(20_000), "%YAML 1.1", "---\n", "..."]),
  ];
  const bytes = new TextEncoder().encode(lines.join("\n"));
  return dice.chance(70) ? mutateBytes(dice, bytes) : bytes;
}

async function assertHarmlessFiles(world: World): Promise<void> {
  const status = await readStatus(world.disk);
  assert.ok(JSON.stringify(status).length < 2_000_000);
}
