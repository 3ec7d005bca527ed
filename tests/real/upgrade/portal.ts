import { fileURLToPath } from "node:url";
import { startLabProcess } from "../../lab/lab_process.ts";

const PORTAL = fileURLToPath(new URL("../../../cli/portal.ts", import.meta.url));

/** A fake portal on the host. */
export interface HostPortal {
  readonly cluster: string;
  readonly node: string;
  /** The whole of /etc/pbx-agent/config.yaml for that node. */
  readonly config: string;
  /** Ports of the host that the machine must reach. */
  readonly ports: readonly number[];
  /** Calls its admin API; throws with the answer unless it is 200. */
  admin<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Serves a file at `/artifacts/NAME`. */
  putArtifact(name: string, bytes: Uint8Array): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the portal as a process of its own. */
export async function startHostPortal(): Promise<HostPortal> {
  const portal = startLabProcess("setpriv", [
    ...["--pdeathsig", "TERM", Deno.execPath(), "run", "--no-check", "--allow-all", PORTAL],
  ]);
  const welcome = JSON.parse(await portal.waitForLine((line) => line.startsWith("{")));

  async function call(method: string, path: string, body?: BodyInit): Promise<string> {
    const init = body === undefined ? {} : { body };
    const answer = await fetch(welcome.admin + path, { method, ...init });
    const text = await answer.text();
    if (answer.status === 200) return text;
    throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
  }

  return {
    cluster: welcome.cluster,
    node: welcome.node,
    config: welcome.config_yaml,
    ports: [welcome.url, welcome.admin].map((url) => Number(new URL(url).port)),
    admin: async (method, path, body) =>
      JSON.parse(await call(method, path, body === undefined ? undefined : JSON.stringify(body))),
    putArtifact: async (name, bytes) =>
      void await call("PUT", `/admin/artifacts/${name}`, new Uint8Array(bytes)),
    stop: async () => void await portal.stop(),
  };
}
