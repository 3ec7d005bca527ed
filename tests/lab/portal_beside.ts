import { fileURLToPath } from "node:url";
import type { Container } from "./container.ts";

const PORTAL = fileURLToPath(new URL("../../cli/portal.ts", import.meta.url));
const FETCH = fileURLToPath(new URL("container/fetch_main.ts", import.meta.url));

/** A fake portal beside a container: it listens on the container's 127.0.0.1. */
export interface PortalBeside {
  /** The cluster that it made, and its only node. */
  readonly cluster: string;
  readonly node: string;
  /** The node's enrollment token, as it stands in the configuration. */
  readonly token: string;
  /** The whole of /etc/pbx-agent/config.yaml for that node. */
  readonly config: string;
  /** Calls its admin API; throws with the answer unless it is 200. */
  admin<T>(method: string, path: string, body?: unknown): Promise<T>;
}

/** Starts the portal; it ends with the container. */
export async function startPortalBeside(container: Container): Promise<PortalBeside> {
  const portal = container.runInNetwork(Deno.execPath(), ["run", "--allow-all", PORTAL]);
  const welcome = JSON.parse(await portal.waitForLine((line) => line.startsWith("{")));
  return {
    cluster: welcome.cluster,
    node: welcome.node,
    token: welcome.token,
    config: welcome.config_yaml,
    admin: async (method, path, body) => {
      const text = body === undefined ? "" : JSON.stringify(body);
      const args = ["run", "--allow-net", "--no-config", FETCH, method, welcome.admin + path, text];
      const call = container.runInNetwork(Deno.execPath(), args);
      if (await call.exited !== 0) throw new Error(`${method} ${path}: ${call.stderr.join("\n")}`);
      const answer = JSON.parse(call.stdout.join("\n"));
      if (answer.status === 200) return JSON.parse(answer.body);
      throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.body}`);
    },
  };
}
