import { createFakeK8s, type FakeK8s } from "../../../adapters/fake/k8s.ts";
import { createFakeServers } from "../../../adapters/fake/servers.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { K8s } from "../../../core/ports/k8s.ts";
import type { EtcdMember, Servers } from "../../../core/ports/servers.ts";
import { fail } from "../../../core/result.ts";

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

/** One etcd of several servers, with the network between them. */
export interface EtcdWorld {
  readonly k8s: FakeK8s;
  /** Member names by the number of their server. */
  readonly members: Map<string, number>;
  /** Cuts two servers from each other, or joins them again. */
  setReach(a: number, b: number, reaches: boolean): void;
  /** Its k3s runs as a member that knows a majority. */
  isUp(server: number): boolean;
  /** Members whose database is on a disk, running or not. */
  intact(): number;
  /** What a running k3s without a membership does from time to time. */
  tryToJoin(server: number): void;
  /** The API and the other servers, as one server reaches them. */
  k8sOf(server: number): K8s;
  serversOf(server: number): Servers;
  readonly writes: SeenWrite[];
}

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader";
/** How long a call takes that comes to nothing, milliseconds. */
const LOST_MS = 2_000;

/**
 * Servers that are members of one etcd. A server's API is up as long as it reaches a majority of the
 * members whose k3s runs on their database; what changes the members needs that, too.
 *
 * @param delay how long one way of a call takes, milliseconds
 */
export function createEtcdWorld(
  clock: Clock,
  hosts: readonly Host[],
  delay: () => number,
): EtcdWorld {
  const k8s = createFakeK8s({ clock });
  const members = new Map<string, number>();
  const cut = new Set<string>();
  const writes: SeenWrite[] = [];
  let joins = 0;

  const key = (a: number, b: number) => `${Math.min(a, b)}-${Math.max(a, b)}`;
  const reaches = (a: number, b: number) => a === b || !cut.has(key(a, b));
  const isServing = (server: number) => {
    const name = hosts[server]?.memberName() ?? null;
    return hosts[server]?.isRunning() === true && name !== null && members.get(name) === server;
  };
  const isUp = (server: number) => {
    if (!isServing(server)) return false;
    const votes = [...members.values()].filter((each) => reaches(server, each) && isServing(each));
    return votes.length * 2 > members.size;
  };
  const intact = () =>
    [...members].filter(([name, server]) => hosts[server]?.memberName() === name).length;
  const memberOf = (name: string, server: number): EtcdMember => ({
    id: name,
    name,
    clientUrls: [`https://10.0.0.${server + 1}:2379`],
    isLearner: false,
  });
  const serverAt = (url: string) => Number(new URL(url).hostname.split(".").at(-1)) - 1;
  const uid = () =>
    String((k8s.read("/api/v1/namespaces/kube-system")?.["metadata"] as JsonObject)["uid"]);

  function add(server: number): void {
    joins += 1;
    const name = `${hosts[server]?.name}-${joins.toString(16).padStart(8, "0")}`;
    members.set(name, server);
    hosts[server]?.putDatabase(name);
  }

  /** k3s takes the member of a Node that is deleted out of etcd (k3s fact G). */
  function forgetNode(name: string): void {
    for (const [member, server] of members) {
      if (hosts[server]?.name === name) members.delete(member);
    }
  }

  function k8sOf(server: number): K8s {
    const whole = k8s as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const lost = async () => {
      await clock.sleep(LOST_MS);
      return fail({ code: "unreachable", message: "the API is down" });
    };
    const call = (verb: string) => async (...args: unknown[]) => {
      await clock.sleep(delay());
      if (!isUp(server)) return await lost();
      if (!["ready", "get", "list"].includes(verb)) note(server, verb, args);
      const answer = await whole[verb]?.(...args);
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

  function note(server: number, verb: string, [ref]: unknown[]): void {
    const { resource, name } = ref as { resource: string; name: string };
    // The election itself is everybody's.
    if (resource === "leases" || resource === "namespaces") return;
    const spec = k8s.read(LEASE)?.["spec"] as JsonObject | undefined;
    const holder = String(spec?.["holderIdentity"] ?? "");
    writes.push({ by: hosts[server]?.name ?? "", what: `${verb} ${resource}/${name}`, holder });
    if (verb === "remove" && resource === "nodes") forgetNode(name);
  }

  hosts.forEach((_, server) => add(server));
  return {
    k8s,
    members,
    setReach: (a, b, isThere) => void (isThere ? cut.delete(key(a, b)) : cut.add(key(a, b))),
    isUp,
    intact,
    tryToJoin(server) {
      const host = hosts[server];
      // The first server joins nobody; one whose member is still there is refused by k3s.
      const isNew = host?.isRunning() === true && host.memberName() === null;
      if (server === 0 || !isNew || [...members.values()].includes(server)) return;
      if (reaches(server, 0) && isUp(0)) add(server);
    },
    k8sOf,
    serversOf: (server) =>
      createFakeServers({
        look: (url) => {
          const there = serverAt(url);
          if (!reaches(server, there) || !isUp(there)) return null;
          const found = [...members].map(([name, each]) => memberOf(name, each));
          return { kubeSystemUid: uid(), members: found };
        },
        isHealthy: ({ name }) => {
          const there = members.get(name);
          return there !== undefined && reaches(server, there) && isUp(there);
        },
        remove: ({ name }) => {
          const isAgreed = hosts.some((_, each) =>
            each !== server && reaches(server, each) && isUp(each)
          );
          if (isAgreed) members.delete(name);
          return isAgreed;
        },
      }),
    writes,
  };
}
