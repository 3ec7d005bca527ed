import { type FakeNode, startFakeNode } from "../../adapters/fake/fake_node.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { Fault } from "../../adapters/portal/faults.ts";
import type { RequestRecord } from "../../adapters/portal/memory.ts";
import { parseReleaseKeys } from "../../adapters/portal/release_keys.ts";
import { type RunningPortal, startPortal } from "../../adapters/portal/server.ts";
import type { Agent } from "../../adapters/portal/state.ts";
import { welcome } from "../../adapters/portal/welcome.ts";
import type { JsonObject } from "../../core/json.ts";
import type { SyncRequest } from "../../core/protocol/sync.ts";
import {
  type EntryFile,
  type Program,
  runProgram,
  type StartOptions,
  startProgram,
} from "./program.ts";
import { waitFor } from "./wait.ts";

const KEYS_FILE = new URL("../../fixtures/lab-release-keys.json", import.meta.url);

/** Cycles in tests are this far apart, seconds. */
export const CYCLE_S = 0.2;

/** A portal and a machine made of files, and whatever programs a test starts there. */
export interface World {
  readonly running: RunningPortal;
  readonly node: FakeNode;
  /** The machine's folder, for `--root`. */
  readonly root: string;
  /** The configuration's text as cloud-init wrote it. */
  readonly configYaml: string;
  /** The enrollment token in it. */
  readonly token: string;
  /** Starts `run` of the lab's program. */
  start(
    options?: StartOptions & { readonly entry?: EntryFile; readonly flags?: readonly string[] },
  ): Program;
  /** Starts it and waits until the first start is over and a desired state is stored and reported. */
  startSynced(): Promise<Program>;
  /** Waits until `look` gives something; fails at once when a program has broken down meanwhile. */
  until<T>(what: string, look: () => T | Promise<T>): ReturnType<typeof waitFor<T>>;
  /** Runs a command of the lab's program to its end, with `--root`. */
  cli(...args: string[]): ReturnType<typeof runProgram>;
  /** A file of the machine, as text. */
  read(path: string): Promise<string>;
  write(path: string, text: string, mode?: number): Promise<void>;
  /** state.json, parsed. */
  state(): Promise<JsonObject & Record<string, unknown>>;
  /** The agents that the portal has enrolled. */
  agents(): readonly Agent[];
  /** The only agent's last report. */
  report(): SyncRequest | null;
  /** The portal's log of requests, optionally of those whose path ends so. */
  requests(end?: string): readonly RequestRecord[];
  /** Breaks answers, as `POST /admin/faults`. */
  fault(
    fault: { match?: JsonObject; skip?: number; count?: number | null; action: JsonObject },
  ): void;
  mend(): void;
  admin(method: string, path: string, body?: unknown): Promise<unknown>;
  /** A merge patch to the desired state. */
  desire(patch: unknown): Promise<void>;
}

/** How a world differs from the usual one. */
export interface WorldOptions {
  readonly tls?: boolean;
  /** Makes the configuration out of the one that the portal proposes. */
  readonly config?: (yaml: string) => string;
  readonly apiAfterMs?: number;
  /** Whether what `run` reaches in this world counts as covered. */
  readonly measured?: boolean;
}

/** The configuration's first lines, which must outlive whatever the agent changes in it. */
export const COMMENT = "# written by cloud-init\n";

/** Runs `test` in a world of its own and takes it down after, the programs by their own IDs. */
export async function inWorld(
  test: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-e2e-" });
  const programs: Program[] = [];
  const running = await startPortal({
    port: 0,
    stateDir: `${folder}/portal`,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    clock: createNodeClock(),
    random: createNodeRandom(),
    log: { write: () => {} },
    releaseKeys: parseReleaseKeys(await Deno.readTextFile(KEYS_FILE)),
  });
  const words = welcome(running);
  const proposed = COMMENT + String(words["config_yaml"]);
  const configYaml = options.config?.(proposed) ?? proposed;
  const root = `${folder}/root`;
  const node = await startFakeNode({
    root,
    nodeName: String(words["node"]),
    configYaml,
    apiAfterMs: options.apiAfterMs ?? 20,
  });
  try {
    await test(makeWorld({ ...options, running, node, root, configYaml, words, programs }));
  } finally {
    for (const program of programs) program.kill("SIGKILL");
    await Promise.all(programs.map((program) => program.ended()));
    await node.stop();
    await running.close();
    await Deno.remove(folder, { recursive: true });
  }
}

interface Parts extends Pick<World, "running" | "node" | "root" | "configYaml">, WorldOptions {
  readonly words: JsonObject;
  readonly programs: Program[];
}

function makeWorld(
  { running, node, root, configYaml, words, programs, measured = false }: Parts,
): World {
  const { memory, state } = running.portal;
  const world: World = {
    running,
    node,
    root,
    configYaml,
    token: String(words["token"]),
    start({ entry = "cli/lab.ts", flags = [], ...options } = {}) {
      const cycle = entry === "cli/lab.ts" ? ["--cycle", String(CYCLE_S)] : [];
      const program = startProgram(entry, ["run", "--root", root, ...cycle, ...flags], {
        measured,
        ...options,
      });
      programs.push(program);
      return program;
    },
    async startSynced() {
      const before = world.requests("/sync").length;
      const program = world.start();
      await world.until("the first start and a report of it", async () => {
        if (!world.requests("/sync").slice(before).some(({ status }) => status === 200)) {
          return false;
        }
        return (await world.state().catch(() => null))?.["first_start"] === "done" &&
          world.report()?.desired.revision === revisionOf(world) &&
          world.report()?.node.api === "up";
      });
      return program;
    },
    until: (what, look) =>
      waitFor(what, () => {
        const broken = programs.find((one) => one.end()?.signal === null && one.end()?.code !== 0);
        if (broken === undefined) return look();
        throw new Error(`ended with ${broken.end()?.code} instead of ${what}:\n${broken.stderr()}`);
      }),
    cli: (...args) => runProgram("cli/lab.ts", [...args, "--root", root]),
    read: (path) => Deno.readTextFile(root + path),
    async write(path, text, mode = 0o600) {
      await Deno.mkdir(root + path.slice(0, path.lastIndexOf("/")), { recursive: true });
      await Deno.writeTextFile(root + path, text, { mode });
    },
    state: async () => JSON.parse(await world.read("/var/lib/pbx-agent/state.json")),
    agents: () => [...state.agents.values()],
    report: () => (world.agents()[0]?.report ?? null) as SyncRequest | null,
    requests: (end = "") => memory.requests.filter(({ path }) => path.endsWith(end)),
    fault: (fault) => void memory.faults.push(Fault.parse(fault)),
    mend: () => void (memory.faults = []),
    async admin(method, path, body) {
      const answer = await fetch(`${running.adminUrl}/admin${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
      return JSON.parse(text);
    },
    async desire(patch) {
      await world.admin("PATCH", `/clusters/${words["cluster"]}/desired`, patch);
    },
  };
  return world;
}

function revisionOf({ running }: World): unknown {
  const [cluster] = running.portal.state.clusters.values();
  return (cluster?.desired.document as { revision?: unknown } | null)?.revision;
}
