import type { FakeK8s } from "../../adapters/fake/k8s.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K8s } from "../../core/ports/k8s.ts";
import type { Servers } from "../../core/ports/servers.ts";
import type { Host, SeenWrite } from "./host.ts";
import { createGeneration, type Generation } from "./generation.ts";
import { k8sOf } from "./server_api.ts";
import { serversOf } from "./server_peers.ts";
import { copiedStore, createStore } from "./store.ts";

/** The etcd of several servers, with the network between them. */
export interface Etcd {
  /** The objects of the newest cluster: the one that was restored last. */
  readonly k8s: FakeK8s;
  /** Its member names by the number of their server. */
  readonly members: Map<string, number>;
  /** Cuts two servers from each other, or joins them again. */
  setReach(a: number, b: number, reaches: boolean): void;
  /** Its k3s runs as a member with a vote that has a leader. */
  isUp(server: number): boolean;
  /** The newest cluster's members with a vote, and those of them whose database is on a disk. */
  votes(): { readonly all: number; readonly intact: number };
  /** What k3s does from time to time: it joins, gives votes, and takes out what is not to stay. */
  keepMembers(): void;
  /** Whether a server's database is of a member of the newest cluster. */
  isMember(server: number): boolean;
  /** The objects that a server shows: those of the cluster that it is a member of; null: not up. */
  shownBy(server: number): FakeK8s | null;
  /** How the newest cluster calls a server's member; null where it has none. */
  memberOf(server: number): string | null;
  /** Lets a majority take a member out, through whichever server; false where none of them would. */
  takeOut(member: string): boolean;
  /** Keeps the objects as they are, for {@link Etcd.reset}; a word that names them. */
  keep(server: number): string;
  /** Makes a cluster of this server alone from kept objects; the name of its member. */
  reset(server: number, kept: string): string;
  /** The API and the other servers, as one server reaches them. */
  k8sOf(server: number): K8s;
  serversOf(server: number): Servers;
  readonly writes: SeenWrite[];
}

/** What an etcd is made of. */
export interface EtcdParts {
  readonly clock: Clock;
  readonly hosts: readonly Host[];
  /** How long one way of a call takes, milliseconds. */
  delay(): number;
  /** Gets what agents do that they must never do. */
  readonly breaches: string[];
}

/** A learner that makes no progress for so long is taken out by k3s, milliseconds. */
const LEARNER_STALLS_MS = 300_000;

/**
 * Servers that are members of one etcd. A server's API is up as long as its member follows a leader; what
 * changes the members needs that, too, and keeps etcd's own rules.
 */
export function createEtcd(
  { clock, hosts, delay, breaches }: EtcdParts,
): Etcd {
  const cut = new Set<string>();
  const key = (a: number, b: number) => `${Math.min(a, b)}-${Math.max(a, b)}`;
  const reaches = (a: number, b: number) => a === b || !cut.has(key(a, b));
  const around = {
    reaches,
    runs: (server: number, member: string) =>
      hosts[server]?.isRunning() === true && hosts[server]?.memberName() === member,
  };
  let names = 0;
  const named = hosts.map((_, server) => [nameFor(server), server] as const);
  const first = createGeneration(createStore(clock), around, named);
  for (const [name, server] of named) hosts[server]?.putDatabase(name);
  const generations = [first];
  const kept = new Map<string, FakeK8s>();
  const progress = new Map<string, number>();
  const writes: SeenWrite[] = [];

  const newest = () => generations.at(-1) ?? first;

  function nameFor(server: number): string {
    names += 1;
    return `${hosts[server]?.name}-${names.toString(16).padStart(8, "0")}`;
  }

  /** The cluster of which a server's database is a member. */
  function homeOf(server: number): Generation | null {
    const name = hosts[server]?.memberName() ?? null;
    if (name === null) return null;
    return generations.find(({ members }) => members.get(name) === server) ?? null;
  }

  /** The cluster that a server is up in: one whose leader it follows with a vote. */
  function upIn(server: number): Generation | null {
    const home = homeOf(server);
    const name = hosts[server]?.memberName() ?? "";
    return home !== null && !home.learners.has(name) && home.follows(name) ? home : null;
  }

  /** Whether any server of a cluster takes a member out. */
  function takeOutOf(home: Generation, member: string): boolean {
    const isAgreed = hosts.some((_, server) => home.takesOut(server, member));
    if (isAgreed) home.remove(member);
    return isAgreed;
  }

  /** A learner that follows its leader gets its vote; one that does not for long is taken out. */
  function keepLearners(home: Generation): void {
    for (const name of [...home.learners]) {
      if (home.follows(name)) {
        home.learners.delete(name);
        progress.delete(name);
      } else if (clock.monotonic() - (progress.get(name) ?? 0) >= LEARNER_STALLS_MS) {
        takeOutOf(home, name);
      }
    }
  }

  /**
   * The first server joins nobody. k3s refuses one whose member is still there, and etcd a second learner.
   */
  function tryToJoin(server: number): void {
    const host = hosts[server];
    if (server === 0 || host?.isRunning() !== true || host.memberName() !== null) return;
    const there = reaches(server, 0) ? upIn(0) : null;
    if (there === null || there.learners.size > 0) return;
    if ([...there.members.values()].includes(server)) return;
    const name = nameFor(server);
    there.members.set(name, server);
    there.learners.add(name);
    progress.set(name, clock.monotonic());
    host.putDatabase(name);
  }

  const parts = { clock, delay, hosts, reaches, upIn, homeOf };
  return {
    get k8s() {
      return newest().k8s;
    },
    get members() {
      return newest().members;
    },
    setReach: (a, b, isThere) => void (isThere ? cut.delete(key(a, b)) : cut.add(key(a, b))),
    isUp: (server) => upIn(server) !== null,
    votes() {
      const { members, voters } = newest();
      const all = voters();
      const intact = all.filter((name) => hosts[members.get(name) ?? -1]?.memberName() === name);
      return { all: all.length, intact: intact.length };
    },
    keepMembers() {
      generations.forEach(keepLearners);
      hosts.forEach((_, server) => tryToJoin(server));
    },
    isMember: (server) => homeOf(server) === newest(),
    memberOf: (server) => [...newest().members].find(([, each]) => each === server)?.[0] ?? null,
    takeOut: (member) => takeOutOf(newest(), member),
    shownBy: (server) => upIn(server)?.k8s ?? null,
    keep(server) {
      const word = `kept-objects-${kept.size + 1}.`;
      kept.set(word, copiedStore(clock, (upIn(server) ?? newest()).k8s));
      return word;
    },
    reset(server, word) {
      const objects = kept.get(word);
      if (objects === undefined) throw new Error(`no objects are kept as ${word}`);
      const name = nameFor(server);
      generations.push(createGeneration(copiedStore(clock, objects), around, [[name, server]]));
      return name;
    },
    k8sOf: (server) => k8sOf(server, { ...parts, writes, breaches }),
    serversOf: (server) => serversOf(server, parts),
    writes,
  };
}
