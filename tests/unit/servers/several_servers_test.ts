import assert from "node:assert/strict";
import { type AgentsWorld, createAgentsWorld } from "./agents_world.ts";

/** Seeds that are run: few by default, thousands at night; `PBX_SEEDS=FROM-TO` runs others. */
const [FROM, TO] = seeds();
/** How long the trouble lasts in each, virtual minutes. */
const TROUBLE_MINUTES = 20;
const TICK_MS = 5_000;

for (let seed = FROM; seed <= TO; seed++) {
  const size = seed % 3 === 0 ? 5 : 3;
  Deno.test(`${size} servers in trouble, seed ${seed}: one applies, no majority is wiped, all of it heals`, async () => {
    const random = seeded(seed);
    const world = createAgentsWorld(random, size);
    try {
      for (const server of world.servers) server.boot();
      const story: string[] = [];
      await live(world, TROUBLE_MINUTES * 60_000, () => trouble(world, random, story)).catch(
        (error) => {
          throw new Error(`seed ${seed}: ${error}\n${story.slice(-30).join("\n")}`, {
            cause: error,
          });
        },
      );
      await heal(world).catch((error) => {
        throw new Error(`seed ${seed}: ${error}\n${story.slice(-30).join("\n")}`, { cause: error });
      });
    } finally {
      world.stop();
    }
  });
}

/** Lets time pass, and holds everything to its rules all the time. */
async function live(world: AgentsWorld, ms: number, each: () => void): Promise<void> {
  for (let passed = 0; passed < ms; passed += TICK_MS) {
    each();
    await world.clock.advance(TICK_MS);
    assertRules(world);
  }
}

/** What must hold at every moment. */
function assertRules({ etcd, servers }: AgentsWorld): void {
  for (const { by, what, holder } of etcd.writes.splice(0)) {
    assert.equal(holder, by, `${by} did ${what} while ${holder} held the lease`);
  }
  const { size } = etcd.members;
  assert.ok(etcd.intact() * 2 > size, `of ${size} members ${etcd.intact()} have their data`);
  for (const { name, machine } of servers) {
    const snapshot = machine.disk.text("/var/lib/rancher/k3s/server/db/snapshots/one");
    assert.equal(snapshot, "a snapshot", `${name} lost its snapshots`);
  }
}

/** Perhaps something goes wrong, or is asked for. */
function trouble(world: AgentsWorld, random: () => number, story: string[]): void {
  const { etcd, servers, portal, clock } = world;
  const size = servers.length;
  const number = Math.floor(random() * size);
  const server = servers[number];
  if (server === undefined || random() < 0.6) return;
  const other = (number + 1 + Math.floor(random() * (size - 1))) % size;
  const say = (what: string) => story.push(`${Math.round(clock.monotonic() / 1000)} s: ${what}`);
  const dice = Math.floor(random() * 12);
  switch (dice) {
    case 0:
    case 1: {
      const isCut = random() < 0.5;
      etcd.setReach(number, other, !isCut);
      return void say(`${server.name} and demo-${other + 1} ${isCut ? "cut" : "joined"}`);
    }
    case 2:
    case 3: {
      const isPaused = random() < 0.5;
      server.pause(isPaused);
      return void say(`agent of ${server.name} ${isPaused ? "stands still" : "goes on"}`);
    }
    case 4:
      if (server.isAlive()) server.kill();
      else server.boot();
      return void say(`agent of ${server.name} ${server.isAlive() ? "starts" : "is killed"}`);
    case 5:
      server.stopK3s();
      return void say(`k3s of ${server.name} ends`);
    case 6:
    case 7:
      server.startK3s();
      return void say(`k3s of ${server.name} is started`);
    case 8: {
      const isMember = [...etcd.members.values()].includes(number);
      const left = etcd.intact() - (isMember ? 1 : 0);
      if (number === 0 || left * 2 <= etcd.members.size) return;
      server.loseDatabase();
      return void say(`${server.name} loses its database`);
    }
    case 9:
      world.outage = random() < 0.3;
      return;
    default: {
      if (portal.isBusy(server.name)) return;
      const kind = ["server.rejoin", "server.rejoin", "node.drain", "node.forget"][
        Math.floor(random() * 4)
      ] ?? "";
      // The first server joins nobody: once forgotten, only another one can take its place.
      const node = `demo-${
        kind === "node.forget" ? 2 + Math.floor(random() * (size - 1)) : other + 1
      }`;
      const timeout = kind === "node.drain" ? { timeout_s: 60 } : {};
      portal.offer(server.name, kind, kind === "server.rejoin" ? {} : { node, ...timeout });
      return void say(`${kind} ${kind === "server.rejoin" ? "" : node} for ${server.name}`);
    }
  }
}

/** When all trouble is over, whoever is out is told to rejoin; then all of them have to be one cluster. */
async function heal(world: AgentsWorld): Promise<void> {
  const { etcd, servers, portal } = world;
  world.outage = false;
  for (const [number, server] of servers.entries()) {
    for (const other of servers.keys()) etcd.setReach(number, other, true);
    server.pause(false);
    if (!server.isAlive()) server.boot();
    server.startK3s();
  }
  await live(world, 30 * 60_000, () => servers.forEach((server) => server.startK3s()));
  for (const [number, server] of servers.entries()) {
    if (number === 0 || etcd.isUp(number)) continue;
    portal.offer(server.name, "server.rejoin");
    await live(world, 5 * 60_000, () => {});
  }
  for (const [number, { name }] of servers.entries()) {
    const last = portal.offered.filter(({ server }) => server === name).at(-1);
    assert.ok(etcd.isUp(number), `${name} is not up again: ${JSON.stringify(last)}`);
  }
  const open = portal.offered.filter(({ result }) => result === null);
  assert.deepEqual(open, [], "operations without a result");
  assert.equal([...portal.leads.values()].filter((leads) => leads).length, 1, "one leads");
}

function seeds(): readonly [number, number] {
  const asked = /^([0-9]+)-([0-9]+)$/.exec(Deno.env.get("PBX_SEEDS") ?? "");
  if (asked !== null) return [Number(asked[1]), Number(asked[2])];
  return Deno.env.get("PBX_LONG") === "1" ? [1, 2_000] : [1, 3];
}

/** mulberry32: the same numbers for the same seed. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
