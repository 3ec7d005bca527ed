import type { RestorePortal } from "./restore_portal.ts";
import type { ServersWorld } from "./world.ts";

/** How much goes wrong: at least so often, and so many times more by the seed. */
const LEAST = 4;
const MORE = 5;

/** What trouble needs. */
export interface RestoreTroubleOptions {
  readonly world: ServersWorld;
  readonly portal: RestorePortal;
  /** 0 up to 1, by the seed. */
  random(): number;
  /** Within this time from now on it all begins, milliseconds. */
  readonly withinMs: number;
  /** Says what goes wrong, and what is right again. */
  tell(who: string, what: string): void;
}

/** Trouble that goes on until it is stopped. */
export interface RestoreTrouble {
  /** Nothing more begins; what has begun is over within {@link LONGEST_MS}. */
  stop(): void;
}

/** How long one piece of trouble lasts at most, milliseconds. */
export const LONGEST_MS = 150_000;

/**
 * Lets agents be killed or stand still, servers be cut from each other and the portal be away, at moments
 * that the seed draws. All of it is over after a while. Agents that have an operation are hit most.
 */
export function startRestoreTrouble(options: RestoreTroubleOptions): RestoreTrouble {
  const { world, portal, random, withinMs, tell } = options;
  const { clock, servers, etcd } = world;
  let isOver = false;
  const hit = new Set<string>();
  const between = (least: number, most: number) => least + random() * (most - least);

  function target(): number {
    const busy = portal.operations().findLast(({ result }) => result === null)?.nodeName;
    const number = servers.findIndex(({ name }) => name === busy);
    return number >= 0 && random() < 0.7 ? number : Math.floor(random() * servers.length);
  }

  async function kill(): Promise<void> {
    const server = servers[target()];
    if (server?.isAlive() !== true || hit.has(server.name)) return;
    hit.add(server.name);
    server.kill();
    tell(server.name, "the agent is killed");
    await clock.sleep(between(3_000, 70_000));
    hit.delete(server.name);
    if (!server.isOn() || server.isAlive()) return;
    server.boot();
    tell(server.name, "the agent is started again");
  }

  async function stall(): Promise<void> {
    const server = servers[target()];
    if (server?.isAlive() !== true || hit.has(server.name)) return;
    hit.add(server.name);
    server.pause(true);
    tell(server.name, "the agent stands still");
    await clock.sleep(between(5_000, 90_000));
    hit.delete(server.name);
    server.pause(false);
    tell(server.name, "the agent goes on");
  }

  async function cut(): Promise<void> {
    const other = 1 + Math.floor(random() * (servers.length - 1));
    const [first, second] = [servers[0]?.name ?? "", servers[other]?.name ?? ""];
    etcd.setReach(0, other, false);
    tell("network", `${first} and ${second} do not reach each other`);
    await clock.sleep(between(10_000, 120_000));
    etcd.setReach(0, other, true);
    tell("network", `${first} and ${second} reach each other`);
  }

  async function leave(): Promise<void> {
    if (portal.isAway) return;
    portal.isAway = true;
    tell("portal", "nobody reaches it");
    await clock.sleep(between(10_000, LONGEST_MS));
    portal.isAway = false;
    tell("portal", "it can be reached again");
  }

  const kinds = [kill, kill, kill, stall, cut, leave];
  const times = LEAST + Math.floor(random() * MORE);
  const moments = Array.from({ length: times }, () => between(0, withinMs)).sort((a, b) => a - b);
  for (const moment of moments) {
    const kind = kinds[Math.floor(random() * kinds.length)] ?? kill;
    void clock.sleep(moment).then(() => isOver ? undefined : kind());
  }
  return { stop: () => void (isOver = true) };
}
