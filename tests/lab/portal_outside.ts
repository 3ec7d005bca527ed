import { fileURLToPath } from "node:url";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { parseReleaseKeys } from "../../adapters/portal/release_keys.ts";
import { startPortal } from "../../adapters/portal/server.ts";
import type { Container } from "./container.ts";

const FORWARD = fileURLToPath(new URL("container/forward_main.ts", import.meta.url));
const RELEASE_KEYS = new URL("../../fixtures/lab-release-keys.json", import.meta.url);

/** A fake portal in this process, for several containers: each reaches it on its own 127.0.0.1. */
export interface PortalOutside {
  /** The protocol's base and the metadata service, as an agent's configuration names them. */
  readonly url: string;
  readonly metadataUrl: string;
  /** Makes it reachable from a container, until that is stopped. */
  reachFrom(container: Container): Promise<void>;
  /** Calls its admin API; throws with the answer unless it is 200. */
  admin<T>(method: string, path: string, body?: unknown): Promise<T>;
  stop(): Promise<void>;
}

/** Starts it; its state is in memory. */
export async function startPortalOutside(): Promise<PortalOutside> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-portal-outside-" });
  const portal = await startPortal({
    port: 0,
    stateDir: null,
    clock: createNodeClock(),
    random: createNodeRandom(),
    log: { write: () => {} },
    releaseKeys: parseReleaseKeys(await Deno.readTextFile(RELEASE_KEYS)),
  });
  const ports = [portal.url, portal.adminUrl].map((url) => Number(new URL(url).port));
  const pairs = ports.map((port) => ({ port, socket: `${folder}/${port}` }));
  const listeners = pairs.map(({ port, socket }) => {
    const listener = Deno.listen({ transport: "unix", path: socket });
    void join(listener, port);
    return listener;
  });
  return {
    url: portal.url,
    metadataUrl: portal.adminUrl,
    async reachFrom(container) {
      const args = pairs.flatMap(({ port, socket }) => [String(port), socket]);
      const flags = ["run", "--allow-net", `--allow-read=${folder}`, `--allow-write=${folder}`];
      const command = [...flags, "--no-config", FORWARD, ...args];
      const forward = container.runInNetwork(Deno.execPath(), command);
      await forward.waitForLine((line) => line === "ready");
    },
    async admin(method, path, body) {
      const answer = await fetch(portal.adminUrl + path, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
      });
      const text = await answer.text();
      if (answer.status === 200) return JSON.parse(text);
      throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
    },
    async stop() {
      for (const listener of listeners) listener.close();
      await portal.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Joins every connection of a socket file to a port of this machine. */
async function join(listener: Deno.Listener, port: number): Promise<void> {
  for await (const here of listener) {
    void Deno.connect({ hostname: "127.0.0.1", port }).then((there) =>
      Promise.allSettled([
        here.readable.pipeTo(there.writable),
        there.readable.pipeTo(here.writable),
      ])
    ).catch(() => here.close());
  }
}
