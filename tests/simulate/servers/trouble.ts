import type { AgentsWorld } from "./agents_world.ts";

/** How often nothing goes wrong and nothing is asked for, in a moment. */
const QUIET = 0.5;
/** How often a server that is off, or whose agent or k3s is, comes back by itself, in a moment. */
const BACK = 0.08;
/** How often an agent with an operation is met, where anyone could be. */
const BUSY_FIRST = 0.3;

/** From which call on an agent's calls are counted until it is hit, and how many these are at most. */
const MOMENTS: readonly (readonly [string | null, number])[] = [
  [null, 100],
  ["servers.look", 20],
  ["systemd.stop", 60],
  ["servers.removeMember", 12],
  ["k8s.get", 24],
];

/** Perhaps something goes wrong, or is asked for; in words, or null. */
export function trouble(world: AgentsWorld, random: () => number): string | null {
  const { servers, portal } = world;
  const size = servers.length;
  const better = recover(world, random);
  if (better !== null || random() < QUIET) return better;
  const busy = servers.findIndex(({ name }) => portal.isBusy(name));
  const number = random() < BUSY_FIRST && busy >= 0 ? busy : Math.floor(random() * size);
  const dice = Math.floor(random() * 14);
  return dice < 9 ? harm(world, number, dice, random) : ask(world, number, dice, random);
}

/** Somebody switches on what is off, or systemd starts it: much of the trouble does not last. */
function recover({ servers }: AgentsWorld, random: () => number): string | null {
  for (const server of servers) {
    if (random() >= BACK) continue;
    if (!server.isOn()) {
      server.powerOn();
      return `${server.name} is switched on`;
    }
    if (!server.isAlive()) {
      server.boot();
      return `agent of ${server.name} starts`;
    }
    if (server.isPaused()) {
      server.pause(false);
      return `agent of ${server.name} goes on`;
    }
    server.startK3s();
  }
  return null;
}

function harm(
  world: AgentsWorld,
  number: number,
  dice: number,
  random: () => number,
): string | null {
  const { etcd, servers } = world;
  const server = servers[number];
  if (server === undefined) return null;
  switch (dice) {
    case 0:
    case 1: {
      const other = otherThan(number, servers.length, random);
      const isCut = random() < 0.5;
      etcd.setReach(number, other, !isCut);
      return `${server.name} and demo-${other + 1} ${isCut ? "cut" : "joined"}`;
    }
    case 2: {
      if (random() < 0.3) {
        server.silence(!server.isSilent());
        return `the kubelet of ${server.name} ${server.isSilent() ? "is silent" : "speaks again"}`;
      }
      if (!server.isPaused() && random() < 0.8) return strike(world, number, "pause", random);
      server.pause(!server.isPaused());
      return `agent of ${server.name} ${server.isPaused() ? "stands still" : "goes on"}`;
    }
    case 3:
    case 4:
      if (!server.isOn()) return null;
      if (server.isAlive() && random() < 0.6) return strike(world, number, "kill", random);
      if (server.isAlive()) server.kill();
      else server.boot();
      return `agent of ${server.name} ${server.isAlive() ? "starts" : "is killed"}`;
    case 5:
      server.stopK3s();
      return `k3s of ${server.name} ends`;
    case 6:
      if (!server.isOn()) return null;
      server.startK3s();
      return `k3s of ${server.name} is started`;
    case 7:
      if (server.isOn()) server.powerOff();
      else server.powerOn();
      return `${server.name} is switched ${server.isOn() ? "on" : "off"}`;
    default:
      return loseDatabase(world, number);
  }
}

/** Hits an agent in the middle of what it does, most often between what it was told and what it does then. */
function strike(
  world: AgentsWorld,
  number: number,
  how: "kill" | "pause",
  random: () => number,
): string {
  // One that stands still and leads goes on when another leads.
  const isLate = how === "pause" && random() < 0.4;
  const moment = isLate ? MOMENTS.length - 1 : Math.floor(random() * MOMENTS.length);
  const [after, most] = MOMENTS[moment] ?? [null, 1];
  const calls = Math.floor(random() * most);
  // Whoever leads is asked the most of the API.
  const server = world.servers[after === "k8s.get" ? leaderOf(world) ?? number : number];
  server?.strikeAt(how, calls, after);
  const from = after === null ? "" : `, from its next ${after} on`;
  return `agent of ${server?.name} is hit (${how}) after ${calls} calls${from}`;
}

/** Which server the portal takes for the leader. */
function leaderOf({ servers, portal }: AgentsWorld): number | null {
  const number = servers.findIndex(({ name }) => portal.leads.get(name) === true);
  return number < 0 ? null : number;
}

/** Never the first server's, which rejoins nobody, nor one without which no majority has its data. */
function loseDatabase({ etcd, servers }: AgentsWorld, number: number): string | null {
  const server = servers[number];
  const { all, intact } = etcd.votes();
  const left = etcd.isMember(number) ? intact - 1 : intact;
  if (server === undefined || number === 0 || left * 2 <= all) return null;
  server.loseDatabase();
  return `${server.name} loses its database`;
}

function ask(
  world: AgentsWorld,
  any: number,
  dice: number,
  random: () => number,
): string | null {
  const { servers, portal } = world;
  // Drains and the removal of Nodes are the leader's: others only refuse them.
  const number = dice >= 12 && random() < 0.7 ? leaderOf(world) ?? any : any;
  const server = servers[number];
  if (server === undefined) return null;
  if (dice === 9) {
    world.outage = random() < 0.3;
    return world.outage ? "the portal is away" : "the portal is there";
  }
  if (portal.isBusy(server.name)) return null;
  const size = servers.length;
  switch (dice) {
    case 10:
    case 11:
      portal.offer(server.name, "server.rejoin");
      return `server.rejoin for ${server.name}`;
    case 12: {
      const node = `demo-${otherThan(number, size, random) + 1}`;
      portal.offer(server.name, "node.drain", { node, timeout_s: 60 });
      return `node.drain ${node} for ${server.name}`;
    }
    default: {
      // The first server joins nobody: once forgotten, only another one can take its place.
      const node = `demo-${2 + Math.floor(random() * (size - 1))}`;
      portal.offer(server.name, "node.forget", { node });
      return `node.forget ${node} for ${server.name}`;
    }
  }
}

function otherThan(number: number, size: number, random: () => number): number {
  return (number + 1 + Math.floor(random() * (size - 1))) % size;
}
