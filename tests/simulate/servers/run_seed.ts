import { K3S_DATABASE_DIRECTORY, K3S_UNIT } from "../../../core/state/paths.ts";
import { type AgentsWorld, createAgentsWorld } from "./agents_world.ts";
import { brokenRule, notHealed } from "./rules.ts";
import { trouble } from "./trouble.ts";

/** How a seed ended. */
export interface ServersEnd {
  readonly seed: number;
  /** How many servers the cluster had. */
  readonly size: number;
  /** What broke first; null where all held. */
  readonly broken: string | null;
  /** What happened, where it was to be told. */
  readonly story: readonly string[];
}

/** How long the trouble lasts, virtual milliseconds. */
const TROUBLE_MS = 20 * 60_000;
const TICK_MS = 5_000;
/** Longer than any step of an operation waits. */
const OPERATIONS_MS = 45 * 60_000;
const REJOIN_MS = 10 * 60_000;
/** Within it one of the agents leads. */
const SETTLE_MS = 3 * 60_000;

/** Three servers, five with every third seed, in trouble; then all of it heals. */
export async function runServersSeed(seed: number, isTold = false): Promise<ServersEnd> {
  const size = seed % 3 === 0 ? 5 : 3;
  const random = seeded(seed);
  const world = createAgentsWorld(random, size);
  const story = createStory(world, isTold);

  /** Lets time pass until `isOver`, and holds everything to its rules all the time. */
  async function live(ms: number, each: () => void, isOver = () => false): Promise<string | null> {
    for (let passed = 0; passed < ms && !isOver(); passed += TICK_MS) {
      each();
      await world.clock.advance(TICK_MS);
      story.look();
      const broken = brokenRule(world);
      if (broken !== null) return broken;
    }
    return null;
  }

  async function play(): Promise<string | null> {
    for (const server of world.servers) server.boot();
    return await live(TROUBLE_MS, () => story.say(trouble(world, random))) ??
      await heal(world, live) ?? notHealed(world);
  }

  try {
    return { seed, size, broken: await play(), story: story.lines };
  } finally {
    world.stop();
  }
}

type Live = (ms: number, each: () => void, isOver?: () => boolean) => Promise<string | null>;

/** When all trouble is over, whoever is out is told to rejoin, until all of them are one cluster. */
async function heal(world: AgentsWorld, live: Live): Promise<string | null> {
  const { etcd, servers, portal } = world;
  world.outage = false;
  for (const [number, server] of servers.entries()) {
    for (const other of servers.keys()) etcd.setReach(number, other, true);
    server.spare();
    server.pause(false);
    server.silence(false);
    if (!server.isOn()) server.powerOn();
    if (!server.isAlive()) server.boot();
  }
  const startAll = () => servers.forEach((server) => server.startK3s());
  const isIdle = () => portal.offered.every(({ result }) => result !== null);
  const broken = await live(OPERATIONS_MS, startAll, isIdle) ?? await live(SETTLE_MS, startAll);
  if (broken !== null) return broken;
  for (let tries = 0; tries < servers.length; tries++) {
    for (const [number, server] of servers.entries()) {
      if (number === 0 || etcd.isUp(number)) continue;
      portal.offer(server.name, "server.rejoin");
      const found = await live(REJOIN_MS, startAll, isIdle);
      if (found !== null) return found;
    }
  }
  return await live(SETTLE_MS, startAll);
}

/** The story of a world; nothing is looked at where it is not told. */
function createStory({ clock, etcd, servers }: AgentsWorld, isTold: boolean) {
  const lines: string[] = [];
  const read = new Map<string, number>();
  let before = "";
  const say = (what: string | null) => {
    if (isTold && what !== null) lines.push(`${Math.round(clock.monotonic() / 1000)} s: ${what}`);
  };
  const marked = (isSo: (number: number) => boolean) =>
    servers.map((_, number) => isSo(number) ? number + 1 : "-").join("");

  function look(): void {
    if (!isTold) return;
    for (const { name, machine: { disk } } of servers) {
      for (const path of disk.paths().filter((each) => /\/ops\/.*\.log$/.test(each))) {
        const text = disk.text(path) ?? "";
        const from = read.get(name + path) ?? 0;
        read.set(name + path, text.length);
        for (const line of text.slice(from).split("\n").filter((each) => each !== "")) {
          say(`  ${name}: ${line}`);
        }
      }
    }
    const members = [...etcd.members].map(([member, number]) => {
      const stored = servers[number]?.machine.disk.text(`${K3S_DATABASE_DIRECTORY}/etcd/name`);
      return stored === member ? member : `${member} without its data`;
    });
    const runs = (number: number) =>
      servers[number]?.machine.systemd.units.get(K3S_UNIT)?.state === "active";
    const now = `  ${members.join(", ")}; k3s runs on ${marked(runs)}, up are ${
      marked(etcd.isUp)
    }, agents ${marked((number) => servers[number]?.isAlive() === true)}`;
    if (now !== before) say(now);
    before = now;
  }

  return { lines, say, look };
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
