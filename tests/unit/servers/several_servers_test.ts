import assert from "node:assert/strict";
import { runServersSeed } from "../../simulate/servers/run_seed.ts";
import { replayOf } from "../../simulate/servers/seeds.ts";

/** Seeds that are run: few by default, thousands at night; `PBX_SEEDS=FROM-TO` runs others. */
const [FROM, TO] = seeds();

for (let seed = FROM; seed <= TO; seed++) {
  Deno.test(`servers in trouble, seed ${seed}: one applies, no majority is wiped, all of it heals`, async () => {
    const { broken, size } = await runServersSeed(seed);
    assert.equal(broken, null, `${size} servers: ${broken}; replay: ${replayOf(seed)}`);
  });
}

function seeds(): readonly [number, number] {
  const asked = /^([0-9]+)-([0-9]+)$/.exec(Deno.env.get("PBX_SEEDS") ?? "");
  if (asked !== null) return [Number(asked[1]), Number(asked[2])];
  return Deno.env.get("PBX_LONG") === "1" ? [1, 2_000] : [1, 3];
}
