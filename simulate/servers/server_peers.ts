import type { FakeK8s } from "../../adapters/fake/k8s.ts";
import { createFakeServers } from "../../adapters/fake/servers.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { EtcdMember, Servers } from "../../core/ports/servers.ts";
import { fail } from "../../core/result.ts";
import type { Host } from "./host.ts";
import type { Generation } from "./generation.ts";

/** What the way to other servers is made of. */
export interface ServerPeersParts {
  readonly clock: Clock;
  /** How long one way of a call takes, milliseconds. */
  readonly delay: () => number;
  readonly hosts: readonly Host[];
  readonly reaches: (a: number, b: number) => boolean;
  readonly upIn: (server: number) => Generation | null;
  /** The cluster that a server's database is of; null where it is of none. */
  readonly homeOf: (server: number) => Generation | null;
}

/** The other servers, as one of them reaches them: each call takes its time, there and back. */
export function serversOf(server: number, parts: ServerPeersParts): Servers {
  const { clock, delay, hosts, reaches, upIn, homeOf } = parts;
  const numberOf = ([url = ""]: readonly string[]) => {
    const { hostname } = new URL(url);
    return hostname === "127.0.0.1" ? server : Number(hostname.split(".").at(-1)) - 1;
  };
  const reached = (there: number) => reaches(server, there) ? upIn(there) : null;

  const near = createFakeServers({
    look(url) {
      const found = reached(numberOf([url]));
      if (found === null) return null;
      const members = [...found.members].map(([name, each]) =>
        memberOf(name, each, found.learners.has(name))
      );
      return { kubeSystemUid: uidOf(found.k8s), members };
    },
    isHealthy({ name, clientUrls }) {
      const there = numberOf(clientUrls);
      return reaches(server, there) && hosts[there]?.memberName() === name &&
        homeOf(there)?.follows(name) === true;
    },
    remove({ name }, { clientUrls }) {
      const through = numberOf(clientUrls);
      const home = reached(through);
      if (home === null || !home.takesOut(through, name)) return false;
      home.remove(name);
      return true;
    },
  });

  /** An answer is lost where the way is cut before it is back. */
  function far<A extends unknown[], T>(call: (...args: A) => Promise<T>) {
    return async (...args: A): Promise<T> => {
      await clock.sleep(delay());
      const answer = await call(...args);
      await clock.sleep(delay());
      return answer;
    };
  }

  return {
    authority: far(near.authority),
    look: far(near.look),
    isHealthy: far(near.isHealthy),
    removeMember: far(async (through, member) => {
      const answer = await near.removeMember(through, member);
      await clock.sleep(delay());
      return reaches(server, numberOf(through.clientUrls))
        ? answer
        : fail({ code: "unreachable", message: `${through.name}: the answer was lost` });
    }),
  };
}

function memberOf(name: string, server: number, isLearner: boolean): EtcdMember {
  return { id: name, name, clientUrls: [`https://10.0.0.${server + 1}:2379`], isLearner };
}

function uidOf(k8s: FakeK8s): string {
  const metadata = k8s.read("/api/v1/namespaces/kube-system")?.["metadata"] as JsonObject;
  return String(metadata["uid"]);
}
