import type { Ports } from "../../core/ports/mod.ts";
import type { EtcdMember, Servers } from "../../core/ports/servers.ts";
import { K3S_DATABASE_DIRECTORY, K3S_UNIT } from "../../core/state/paths.ts";

/** Whose agent is watched, and where its breaches go. */
export interface Watch {
  readonly name: string;
  readonly breaches: string[];
  /** Its database is of a member of the cluster as it is now. */
  isMember(): boolean;
}

const ETCD = `${K3S_DATABASE_DIRECTORY}/etcd`;

/**
 * The ports of one process of an agent, held to what it may do on what it was told: before k3s is stopped,
 * a database is wiped or a Node is deleted it has to ask, each time anew, and the members that answered,
 * without that server's own, have to be a majority. A process that begins anew was told nothing yet. What
 * is wiped is no member any more; the Node of a server that has no member may go without the others.
 */
export function watchedPorts(ports: Ports, { name, breaches, isMember }: Watch): Ports {
  const told = listen(ports.servers);
  const { systemd, disk, k8s } = ports;

  function deed(what: string, server: string): void {
    const why = told.objection(server);
    if (why !== null) breaches.push(`${name} ${what} ${why}`);
  }

  function beforeWipe(path: string): void {
    if (path !== ETCD) return;
    if (isMember()) breaches.push(`${name} wiped its database as a member of the cluster`);
    deed("wiped its database", name);
  }

  return {
    ...ports,
    servers: told.servers,
    systemd: {
      ...systemd,
      stop(unit) {
        if (unit === K3S_UNIT) deed("stopped k3s", name);
        return systemd.stop(unit);
      },
    },
    disk: {
      ...disk,
      rename(from, to) {
        beforeWipe(from);
        return disk.rename(from, to);
      },
      remove(path) {
        beforeWipe(path);
        return disk.remove(path);
      },
    },
    k8s: {
      ...k8s,
      remove(ref, preconditions) {
        if (ref.resource === "nodes" && !told.knowsNone(ref.name)) {
          deed(`deleted Node ${ref.name}`, ref.name);
        }
        return k8s.remove(ref, preconditions);
      },
    },
  };
}

/** Hears what an agent is told of the members of etcd. */
function listen(servers: Servers) {
  let members: readonly EtcdMember[] | null = null;
  const answered = new Set<string>();

  return {
    servers: {
      ...servers,
      async look(url, token) {
        const view = await servers.look(url, token);
        answered.clear();
        members = view.ok ? view.value.members : null;
        return view;
      },
      async isHealthy(member) {
        const isHealthy = await servers.isHealthy(member);
        if (isHealthy) answered.add(member.id);
        return isHealthy;
      },
    } satisfies Servers as Servers,
    /** Whether a server has no member by the last answer. */
    knowsNone: (server: string) =>
      members !== null && !members.some((each) => serverOf(each) === server),
    /** What is against doing without a server by the last answers, which count only once. */
    objection(server: string): string | null {
      const all = members;
      members = null;
      if (all === null) return "without having asked for the members of etcd";
      const voters = all.filter(({ isLearner }) => !isLearner);
      const others = voters.filter((each) => serverOf(each) !== server && answered.has(each.id));
      if (others.length * 2 > voters.length) return null;
      return `although only ${others.length} of ${voters.length} members answered without it`;
    },
  };
}

/** k3s calls a member after its node, with eight hex digits more. */
function serverOf({ name }: EtcdMember): string {
  return name.slice(0, -"-00000000".length);
}
