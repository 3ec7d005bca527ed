import { createFakeRandom } from "../../adapters/fake/random.ts";
import { createFakeClock } from "../../adapters/fake/clock.ts";
import type { JsonObject } from "../../core/json.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import { createCheapSigning } from "../virtual/cheap_signing.ts";
import { START } from "./machine.ts";
import { type Check, checkRestored, type ServerEnd, serverEnds } from "./restore_checks.ts";
import { createRestorePortal, type RestorePortal } from "./restore_portal.ts";
import { LONGEST_MS, startRestoreTrouble } from "./restore_trouble.ts";
import { createStory, type StoryLine } from "./story.ts";
import { createServersWorld, type ServersWorld } from "./world.ts";

/** Which restore is played. */
export interface RestoreOptions {
  readonly servers: 3 | 5;
  /** A whole number; the same one gives the same run. */
  readonly seed: number;
  /** Agents are killed and servers cut off in the middle of it. */
  readonly trouble: boolean;
  /** Hears each line of the story as it happens. */
  readonly tell?: (line: StoryLine) => void;
}

/** How a restore ended. */
export interface RestoreEnd {
  readonly seed: number;
  /** Whether everything is as it should be: every check holds. */
  readonly ok: boolean;
  /** Simulated time, milliseconds. */
  readonly elapsedMs: number;
  /** The servers whose database was lost. */
  readonly lost: readonly string[];
  readonly story: readonly StoryLine[];
  readonly servers: readonly ServerEnd[];
  readonly operations: readonly {
    readonly id: string;
    readonly kind: string;
    readonly server: string;
    readonly result: string | null;
  }[];
  readonly checks: readonly Check[];
}

const TICK_MS = 5_000;
/** How long the whole restore may take, simulated: two hours. */
const MOST_MS = 7_200_000;
/** Within this time all trouble begins, milliseconds. */
const TROUBLE_MS = 480_000;
/** How long somebody needs to switch a server on or off, milliseconds. */
const HANDS_MS = 20_000;

/**
 * Servers of one cluster lose a member or their majority; the fake portal guides the restore from a snapshot
 * on the first server and the return of the others. Agents are the real ones; time is simulated.
 */
export async function runRestore(options: RestoreOptions): Promise<RestoreEnd> {
  const { servers: size, seed, trouble } = options;
  // Draws of their own: what is lost does not depend on how often an agent calls.
  const draw = createFakeRandom(seed * 3);
  const delays = createFakeRandom(seed * 3 + 1);
  const troubles = createFakeRandom(seed * 3 + 2);
  const clock = createFakeClock({ now: START });
  const signing = createCheapSigning(signingPublicKey);
  const releaseKeys = [new Secret(draw.bytes(32)), new Secret(draw.bytes(32))] as const;
  const portal = createRestorePortal({ clock, size, releaseKeys, verify: signing.verify });
  const world = createServersWorld({
    size,
    random: delays.fraction,
    clock,
    peer: portal.peer,
    sign: signing.sign,
    releaseKeys: releaseKeys.map(signingPublicKey),
  });
  const story = createStory(clock, options.tell);
  const stage: Stage = { world, portal, random: draw.fraction, say: story.say, live };

  /** Lets time pass until `isSo`; false where it does not come to that in time. */
  async function live(ms: number, isSo: () => boolean = () => false): Promise<boolean> {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      if (isSo()) return true;
      await clock.advance(TICK_MS);
      story.look(portal);
    }
    return isSo();
  }

  try {
    for (const { name, machine, boot } of world.servers) {
      const agentId = `agent-${name.split("-").at(-1)}`;
      portal.admit(name, agentId, machine.publicKeys);
      boot();
    }
    await live(180_000, () => portal.leaders().length === 1);
    const snapshot = await takeSnapshot(stage);
    const lost = snapshot === null ? [] : await loseMembers(stage);
    if (snapshot !== null) {
      const running = trouble
        ? startRestoreTrouble({
          world,
          portal,
          random: troubles.fraction,
          withinMs: TROUBLE_MS,
          tell: story.say,
        })
        : null;
      await guide(stage, snapshot);
      running?.stop();
      if (running !== null) await live(LONGEST_MS);
      await live(600_000, () => checkRestored(world, portal).every(({ holds }) => holds));
    }
    const checks = checkRestored(world, portal);
    return {
      seed,
      ok: snapshot !== null && checks.every(({ holds }) => holds),
      elapsedMs: clock.monotonic(),
      lost,
      story: story.lines,
      servers: serverEnds(world, portal),
      operations: portal.operations().map(({ id, nodeName, offer, result }) => ({
        id,
        kind: String((offer as JsonObject)["kind"]),
        server: nodeName,
        result: result?.state ?? null,
      })),
      checks,
    };
  } finally {
    world.stop();
  }
}

interface Stage {
  readonly world: ServersWorld;
  readonly portal: RestorePortal;
  readonly random: () => number;
  readonly say: (who: string, what: string) => void;
  readonly live: (ms: number, isSo?: () => boolean) => Promise<boolean>;
}

/** Writes, takes a snapshot of that, and writes more; the snapshot's file, or null. */
async function takeSnapshot(stage: Stage): Promise<string | null> {
  const { world, portal, random, say, live } = stage;
  write(world, "orders", "first");
  say("customer", "writes the ConfigMap orders: first");
  portal.offer("demo-1", "s1", "snapshot.save");
  const saved = () => portal.operations().find(({ id }) => id === "s1")?.result ?? null;
  await live(600_000, () => saved() !== null);
  const file = saved()?.output?.["file"];
  write(world, "orders", "second");
  write(world, "invoices", "first");
  say("customer", "changes orders to second, and writes the ConfigMap invoices");
  await live(30_000 + random() * 120_000);
  return typeof file === "string" ? file : null;
}

function write({ etcd }: ServersWorld, name: string, value: string): void {
  etcd.k8s.write(`/api/v1/namespaces/default/configmaps/${name}`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default" },
    data: { value },
  }, "customer");
}

/** One server, or a majority of them, lose power and database; never the first, which is restored on. */
async function loseMembers({ world, random, say, live }: Stage): Promise<readonly string[]> {
  const { servers } = world;
  const many = random() < 0.5 ? 1 : Math.floor(servers.length / 2) + 1;
  const from = Math.floor(random() * (servers.length - 1));
  const lost = servers.slice(1).map((_, index) => (from + index) % (servers.length - 1) + 1)
    .slice(0, many).flatMap((number) => servers[number] ?? []);
  for (const server of lost) {
    server.powerOff();
    server.breakDatabase();
    say(server.name, "loses its power, and its database is broken");
  }
  await live(90_000);
  const up = servers.filter((_, number) => world.etcd.isUp(number)).map(({ name }) => name);
  say("cluster", up.length === 0 ? "no API is up" : `the API is up on ${up.join(", ")}`);
  return lost.map(({ name }) => name).sort();
}

/** Asks the portal again and again, and does what it says, until it says that it is done. */
async function guide({ world, portal, say, live }: Stage, snapshot: string): Promise<void> {
  const { clock, servers } = world;
  const end = clock.monotonic() + MOST_MS;
  let again = false;
  let before = "";
  while (clock.monotonic() < end) {
    const guidance = await portal.guide("r1", { snapshot, from: "s3" }, again);
    const { next, node = "", nodes = [], operation = "", message = "" } = guidance;
    const words = {
      stop_others: `stop ${nodes.join(", ")}: ${message}`,
      start: `start ${node}: ${message}`,
      wait: `waits for ${operation} on ${node}`,
      failed: `${operation} on ${node} failed; it is asked for once more`,
      done: "done: every server is a member of the restored cluster",
    }[next];
    if (words !== before) say("portal", words);
    before = words;
    if (next === "done") return;
    if (next === "failed") again = true;
    if (next === "wait") again = false;
    if (next === "stop_others" || next === "start") {
      await live(HANDS_MS);
      for (const server of servers) {
        if (nodes.includes(server.name) && server.isOn()) {
          server.powerOff();
          say(server.name, "is switched off");
        }
        if (server.name === node && !server.isOn()) {
          server.powerOn();
          say(server.name, "is switched on");
        }
      }
      await live(HANDS_MS * 2);
    }
    await live(TICK_MS);
  }
  say("portal", "two hours have passed: it gives up");
}
