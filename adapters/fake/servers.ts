import type { EtcdMember, ServerError, Servers, ServerView } from "../../core/ports/servers.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Secret } from "../../core/secret.ts";

/** What plays the other servers of a cluster. */
export interface FakeServersWork {
  /** The CA file that a server serves, `null` being this node's own, or why not; null: it does not answer. */
  authority?(url: string | null): Uint8Array | ServerError | null;
  /** What the server at a URL shows; null where it does not answer. */
  look(url: string, token: Secret): ServerView | "refused" | null;
  isHealthy(member: EtcdMember): boolean;
  /** Takes a member out, asking another one; false where there is no majority for it. */
  remove(member: EtcdMember, through: EtcdMember): boolean;
}

/** Other servers in memory; without `work` there are none. */
export function createFakeServers(work?: FakeServersWork): Servers {
  const unreachable = (message: string) => fail<ServerError>({ code: "unreachable", message });
  return {
    authority(url) {
      const file = work?.authority?.(url) ??
        unreachable(`${url ?? "this node"}: connection refused`);
      if (file instanceof Uint8Array) return Promise.resolve(ok(file));
      return Promise.resolve("code" in file ? fail(file) : file);
    },
    look(url, token): Promise<Result<ServerView, ServerError>> {
      const view = work?.look(url, token) ?? null;
      if (view === "refused") {
        const message = `${url} does not take this node's token (401)`;
        return Promise.resolve(fail({ code: "refused", message }));
      }
      return Promise.resolve(view === null ? unreachable(`${url}: connection refused`) : ok(view));
    },
    isHealthy: (member) => Promise.resolve(work?.isHealthy(member) ?? false),
    removeMember: (through, member) =>
      Promise.resolve(
        work?.remove(member, through) === true
          ? ok(undefined)
          : unreachable("etcdserver: re-configuration failed due to not enough started members"),
      ),
  };
}
