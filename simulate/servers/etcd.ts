import type { FakeK8s } from "../../adapters/fake/k8s.ts";
import { createFakeServers } from "../../adapters/fake/servers.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K8s } from "../../core/ports/k8s.ts";
import type { EtcdMember, Servers } from "../../core/ports/servers.ts";
import { fail } from "../../core/result.ts";
import { copiedStore, createStore } from "./store.ts";

/** What the model has to know of a server. */
export interface Host {
  readonly name: string;
  /** Its k3s runs. */
  isRunning(): boolean;
  /** How its database calls its member; null where there is none. */
  memberName(): string | null;
  /** A k3s that has joined makes a database. */
  putDatabase(memberName: string): void;
}

/** A write that an agent made, at the moment when it took effect. */
export interface SeenWrite {
  readonly by: string;
  readonly what: string;
  /** Who held the lease then. */
  readonly holder: string;
}

/** The etcd of several servers, with the network between them. */
export interface Etcd {
  /** The objects of the newest cluster: the one that was restored last. */
  readonly k8s: FakeK8s;
  /** Its member names by the number of their server. */
  readonly members: Map<string, number>;
  /** Cuts two servers from each other, or joins them again. */
  setReach(a: number, b: number, reaches: boolean): void;
  /** Its k3s runs as a member that knows a majority. */
  isUp(server: number): boolean;
  /** Members whose database is on a disk, running or not. */
  intact(): number;
  /** What a running k3s without a membership does from time to time. */
  tryToJoin(server: number): void;
  /** The objects that a server shows: those of the cluster that it is a member of; null: not up. */
  shownBy(server: number): FakeK8s | null;
  /** Keeps the objects as they are, for {@link Etcd.reset}; a word that names them. */
  keep(server: number): string;
  /** Makes a cluster of this server alone from kept objects; the name of its member. */
  reset(server: number, kept: string): string;
  /** The API and the other servers, as one server reaches them. */
  k8sOf(server: number): K8s;
  serversOf(server: number): Servers;
  readonly writes: SeenWrite[];
}

/** One cluster: a reset makes another, and whose database is of before stays in the old one. */
interface Generation {
  readonly k8s: FakeK8s;
  readonly members: Map<string, number>;
}

/** The Lease of the agents' election. */
export const LEASE = "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader";
/** How long a call takes that comes to nothing, milliseconds. */
const LOST_MS = 2_000;

/**
 * Servers that are members of one etcd. A server's API is up as long as it reaches a majority of the
 * members whose k3s runs on their database; what changes the members needs that, too.
 *
 * @param delay how long one way of a call takes, milliseconds
 */
export function createEtcd(clock: Clock, hosts: readonly Host[], delay: () => number): Etcd {
  const first: Generation = { k8s: createStore(clock), members: new Map() };
  const generations = [first];
  const kept = new Map<string, FakeK8s>();
  const cut = new Set<string>();
  const writes: SeenWrite[] = [];
  let names = 0;

  const newest = () => generations.at(-1) ?? first;
  const key = (a: number, b: number) => `${Math.min(a, b)}-${Math.max(a, b)}`;
  const reaches = (a: number, b: number) => a === b || !cut.has(key(a, b));

  /** The cluster of which a server's database is a member. */
  function generationOf(server: number): Generation | null {
    const name = hosts[server]?.memberName() ?? null;
    if (name === null) return null;
    return generations.find(({ members }) => members.get(name) === server) ?? null;
  }

  /** The cluster that a server is up in: one that it reaches a majority of. */
  function upIn(server: number): Generation | null {
    if (hosts[server]?.isRunning() !== true) return null;
    const generation = generationOf(server);
    if (generation === null) return null;
    const votes = [...generation.members].filter(([name, each]) =>
      reaches(server, each) && hosts[each]?.isRunning() === true &&
      hosts[each]?.memberName() === name
    );
    return votes.length * 2 > generation.members.size ? generation : null;
  }

  const isUp = (server: number) => upIn(server) !== null;

  function nameFor(server: number): string {
    names += 1;
    return `${hosts[server]?.name}-${names.toString(16).padStart(8, "0")}`;
  }

  function add({ members }: Generation, server: number): void {
    const name = nameFor(server);
    members.set(name, server);
    hosts[server]?.putDatabase(name);
  }

  /** k3s takes the member of a Node that is deleted out of etcd (k3s fact G). */
  function forgetNode({ members }: Generation, name: string): void {
    for (const [member, server] of members) {
      if (hosts[server]?.name === name) members.delete(member);
    }
  }

  function k8sOf(server: number): K8s {
    const lost = async () => {
      await clock.sleep(LOST_MS);
      return fail({ code: "unreachable", message: "the API is down" });
    };
    const call = (verb: string) => async (...args: unknown[]) => {
      await clock.sleep(delay());
      const there = upIn(server);
      if (there === null) return await lost();
      if (!["get", "list"].includes(verb)) note(there, server, verb, args);
      const verbs = there.k8s as unknown as Record<
        string,
        (...args: unknown[]) => Promise<unknown>
      >;
      const answer = await verbs[verb]?.(...args);
      await clock.sleep(delay());
      return isUp(server) ? answer : await lost();
    };
    const ready = async () => {
      await clock.sleep(delay());
      return isUp(server);
    };
    const verbs = ["get", "list", "create", "remove", "apply"];
    return {
      ...Object.fromEntries(verbs.map((verb) => [verb, call(verb)])),
      ready,
    } as unknown as K8s;
  }

  function note(there: Generation, server: number, verb: string, [ref]: unknown[]): void {
    const { resource, name } = ref as { resource: string; name: string };
    // The election itself is everybody's.
    if (resource === "leases" || resource === "namespaces") return;
    const spec = there.k8s.read(LEASE)?.["spec"] as JsonObject | undefined;
    const holder = String(spec?.["holderIdentity"] ?? "");
    writes.push({ by: hosts[server]?.name ?? "", what: `${verb} ${resource}/${name}`, holder });
    if (verb === "remove" && resource === "nodes") forgetNode(there, name);
  }

  function serversOf(server: number): Servers {
    return createFakeServers({
      look: (url) => {
        const { hostname } = new URL(url);
        const there = hostname === "127.0.0.1" ? server : Number(hostname.split(".").at(-1)) - 1;
        const found = reaches(server, there) ? upIn(there) : null;
        if (found === null) return null;
        const members = [...found.members].map(([name, each]) => memberOf(name, each));
        return { kubeSystemUid: uidOf(found.k8s), members };
      },
      isHealthy: ({ name }) => {
        const home = generations.find(({ members }) => members.has(name));
        const there = home?.members.get(name);
        return there !== undefined && reaches(server, there) && upIn(there) === home;
      },
      remove: ({ name }) => {
        const home = generations.find(({ members }) => members.has(name));
        const isAgreed = home !== undefined &&
          hosts.some((_, each) => each !== server && reaches(server, each) && upIn(each) === home);
        if (isAgreed) home.members.delete(name);
        return isAgreed;
      },
    });
  }

  hosts.forEach((_, server) => add(first, server));
  return {
    get k8s() {
      return newest().k8s;
    },
    get members() {
      return newest().members;
    },
    setReach: (a, b, isThere) => void (isThere ? cut.delete(key(a, b)) : cut.add(key(a, b))),
    isUp,
    intact: () =>
      [...newest().members].filter(([name, server]) => hosts[server]?.memberName() === name).length,
    tryToJoin(server) {
      const host = hosts[server];
      // The first server joins nobody; one whose member is still there is refused by k3s.
      if (server === 0 || host?.isRunning() !== true || host.memberName() !== null) return;
      const there = reaches(server, 0) ? upIn(0) : null;
      if (there !== null && ![...there.members.values()].includes(server)) add(there, server);
    },
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
      generations.push({
        k8s: copiedStore(clock, objects),
        members: new Map([[name, server]]),
      });
      return name;
    },
    k8sOf,
    serversOf,
    writes,
  };
}

function memberOf(name: string, server: number): EtcdMember {
  return {
    id: name,
    name,
    clientUrls: [`https://10.0.0.${server + 1}:2379`],
    isLearner: false,
  };
}

function uidOf(k8s: FakeK8s): string {
  const metadata = k8s.read("/api/v1/namespaces/kube-system")?.["metadata"] as JsonObject;
  return String(metadata["uid"]);
}
