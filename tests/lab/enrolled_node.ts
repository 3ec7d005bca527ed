import { type FakeNode, startFakeNode } from "../../adapters/fake/fake_node.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { parseReleaseKeys } from "../../adapters/portal/release_keys.ts";
import { type RunningPortal, startPortal } from "../../adapters/portal/server.ts";
import { welcome } from "../../adapters/portal/welcome.ts";
import { type LabProcess, startLabProcess } from "./lab_process.ts";
import { waitUntil } from "./wait_until.ts";

const REPOSITORY = new URL("../../", import.meta.url);
const RELEASE_KEYS = new URL("fixtures/lab-release-keys.json", REPOSITORY);
const READY_MS = 30_000;

/** One request that the portal answered. */
export interface SeenRequest {
  /** By this process's `performance.now()`, milliseconds. */
  readonly at: number;
  readonly method: string;
  /** Below the portal's base, for example `/sync`. */
  readonly path: string;
  readonly status: number;
}

/** A fake portal in this process, and a machine of files whose agent is enrolled and has a running k3s. */
export interface EnrolledNode {
  readonly portal: RunningPortal;
  readonly node: FakeNode;
  /** Every request that the portal has answered, oldest first. */
  readonly requests: readonly SeenRequest[];
  /** The command line of the agent from its sources; `args` follow `run --root DIR`. */
  agentCommand(...args: string[]): readonly [string, ...string[]];
  /** Waits until `count` requests that `match` have come after the first `skipped` ones. */
  waitForRequests(
    match: (request: SeenRequest) => boolean,
    count: number,
    options?: { readonly skipped?: number; readonly timeoutMs?: number },
  ): Promise<readonly SeenRequest[]>;
  stop(): Promise<void>;
}

/** Whether the portal took this sync. */
export function isSync({ path, status }: SeenRequest): boolean {
  return path === "/sync" && status === 200;
}

/**
 * Starts the portal and the machine, and runs an agent until it is enrolled, k3s is started and the
 * desired state is in place. No agent runs when this returns.
 */
export async function startEnrolledNode(): Promise<EnrolledNode> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-enrolled-" });
  const root = `${folder}/root`;
  const requests: SeenRequest[] = [];
  const portal = await startPortal({
    port: 0,
    stateDir: `${folder}/portal`,
    clock: createNodeClock(),
    random: createNodeRandom(),
    log: {
      write: (_level, event, _message, fields) => {
        if (event !== "request") return;
        const path = String(fields?.["path"]).replace("/agent/v1", "");
        const { method, status } = { method: "", status: 0, ...fields };
        requests.push({ at: performance.now(), method, path, status });
        letTimePass(root, requests.length);
      },
    },
    releaseKeys: parseReleaseKeys(await Deno.readTextFile(RELEASE_KEYS)),
  });
  const words = welcome(portal);
  const node = await startFakeNode({
    root,
    nodeName: String(words["node"]),
    configYaml: String(words["config_yaml"]),
    apiAfterMs: 0,
  });

  const world: EnrolledNode = {
    portal,
    node,
    requests,
    agentCommand: (...args) => {
      const entry = new URL("cli/lab.ts", REPOSITORY).href;
      const flags = ["run", "-A", "--frozen", "--no-check", "--no-prompt"];
      return [Deno.execPath(), ...flags, entry, "run", "--root", node.root, ...args];
    },
    waitForRequests: (match, count, { skipped = 0, timeoutMs = READY_MS } = {}) =>
      waitUntil(`${count} requests`, () => {
        const found = requests.slice(skipped).filter(match);
        return Promise.resolve(found.length >= count ? found : undefined);
      }, { timeoutMs, everyMs: 20 }),
    stop: async () => {
      await node.stop();
      await portal.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
  const agent = startAgent(world, "--cycle", "0.05");
  try {
    await waitUntil("the first start of k3s", async () => {
      const state = await Deno.readTextFile(`${node.root}/var/lib/pbx-agent/state.json`);
      const { first_start, desired, conditions } = JSON.parse(state);
      return first_start === "done" && desired !== null && conditions.length === 0 || undefined;
    }, { timeoutMs: READY_MS });
  } catch (error) {
    throw new Error(`${error}\n${agent.stderr.join("\n")}`);
  } finally {
    await agent.stop();
  }
  return world;
}

/**
 * A report that is the same as the last one would have to be signed for a later second. Cycles as short as
 * those of a test would so run ahead of the portal's clock; a real node's uptime makes each its own.
 */
function letTimePass(root: string, seconds: number): void {
  try {
    Deno.writeTextFileSync(`${root}/proc/uptime`, `${seconds}.00 0.00\n`, { create: false });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Starts the agent of that machine from its sources. */
export function startAgent(world: EnrolledNode, ...args: string[]): LabProcess {
  const [program, ...rest] = world.agentCommand(...args);
  return startLabProcess(program, rest);
}
