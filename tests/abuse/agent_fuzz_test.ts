import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { dropIns } from "../../core/host/drop_ins.ts";
import type { HostSettings } from "../../core/protocol/desired_state.ts";
import { WORDS } from "./documents.ts";
import { type Dice, fuzz, SEED } from "./fuzz.ts";
import { footprintOf } from "./footprint.ts";
import { answered, assertHarmless, enrolled, keysOf, MAX_BODY } from "./live.ts";
import { mutate } from "./mutate.ts";
import { judgeSync } from "./oracle.ts";
import { json, raw } from "./replies.ts";
import type { World } from "./world.ts";

/** What is not collected yet counts too, so this only finds what grows without any bound. */
const MAX_HEAP_GROWTH = 400 * 1024 * 1024;
/** Cases that one agent lives through before a new one takes over. */
const CASES_PER_AGENT = 50;

Deno.test("runAgent: 150 spoiled answers to a sync, each followed by a good one", async () => {
  let world: World | null = null;
  let revision = 100;
  let taken = 0;
  const heapBefore = Deno.memoryUsage().heapUsed;
  await fuzz("agent, sync", 150, async (dice, index) => {
    if (world === null || index % CASES_PER_AGENT === 0) {
      await world?.stop();
      world = await enrolled(SEED + index);
    }
    const bytes = mutate(dice, answerFor(dice, world, ++revision), WORDS);
    if (await live(world, bytes, ++revision)) taken++;
  });
  await (world as World | null)?.stop();
  assert.ok(taken > 8 && taken < 120, `${taken} were valid all the same`);
  const grown = Deno.memoryUsage().heapUsed - heapBefore;
  assert.ok(grown < MAX_HEAP_GROWTH, `the heap has grown by ${grown} bytes`);
});

/** A good answer; some have an option in clear that only the manifest knows to be secret. */
function answerFor(dice: Dice, world: World, revision: number): JsonValue {
  const answer = world.documents().syncAnswer(revision, dice.chance(40));
  const offered = dice.chance(40) ? world.documents().operation(`op-${revision}`) : null;
  const options = { domains: [], api_token: dice.pick(WORDS.plain) };
  const desired = {
    ...answer["desired"] as JsonObject,
    ...(dice.chance(15) ? { addons: [{ name: "external-dns", enabled: true, options }] } : {}),
  };
  return { ...answer, desired, operation: offered };
}

/** One bad answer, and then a good one of `revision` that must be taken. True where the bad one was none. */
async function live(world: World, bytes: Uint8Array, revision: number): Promise<boolean> {
  const before = footprintOf(world);
  world.forget();
  await answered(world, "sync", () => raw(200, bytes));
  const { verdict, desired } = judgeSync(bytes, keysOf(world));
  const after = footprintOf(world);
  const valid = verdict === "usable" && desired === "valid" && bytes.length <= MAX_BODY;
  if (valid) assertWhole(world, bytes, before, after);
  else assert.deepEqual(after, before);
  await assertHarmless(world);

  const good = world.documents().syncAnswer(revision);
  await answered(world, "sync", () => json(200, good));
  const desiredNow = JSON.parse(footprintOf(world).desired);
  assert.equal(desiredNow?.state.revision, revision, "the good answer is not taken");
  return valid;
}

/** The valid document, or the one before: nothing in between. */
function assertWhole(
  world: World,
  bytes: Uint8Array,
  before: ReturnType<typeof footprintOf>,
  after: ReturnType<typeof footprintOf>,
): void {
  const { desired, desired_tag } = JSON.parse(new TextDecoder().decode(bytes));
  if (after.desired === before.desired) {
    // Refused for its manifest, or for an option that its template does not take so: as before, all of it.
    assert.ok(
      world.log.records().some(({ event }) =>
        /^manifest_|^unsealed_secret|^invalid_desired_state|^registries_refused/.test(event)
      ),
      "a valid document is neither taken nor refused",
    );
    return assert.deepEqual(after, before);
  }
  const stored = JSON.parse(after.desired);
  assert.equal(stored.tag, desired_tag);
  assert.equal(stored.state.revision, desired.revision);
  const files = dropIns(desired.host as HostSettings).map(({ content }) => content);
  assert.deepEqual([after.snapshots, after.ingress], files);
  assert.equal(after.registries === null, desired.host.registries === undefined);
  assert.equal(after.config, before.config);
  assert.equal(after.manifests, before.manifests);
  assert.equal(after.identity, before.identity);
}
