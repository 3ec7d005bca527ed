import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { portalKeysOf } from "../../adapters/portal/answer_key.ts";
import { parseReleaseKeys } from "../../adapters/portal/release_keys.ts";
import { startPortal } from "../../adapters/portal/server.ts";

/** A portal for simulated agents, in the process of the test. */
export interface FleetPortal {
  /** The flags by which a simulation finds it. */
  readonly flags: readonly string[];
  /** The same for agents that take its answers only where they are proven. */
  readonly provenFlags: readonly string[];
  /** How many agents it has enrolled. */
  agents(): number;
  close(): Promise<void>;
}

const KEYS = new URL("../../fixtures/lab-release-keys.json", import.meta.url);

/** Starts a portal that keeps nothing on disk and logs nothing. */
export async function startFleetPortal(): Promise<FleetPortal> {
  const running = await startPortal({
    port: 0,
    stateDir: null,
    clock: createNodeClock(),
    random: createNodeRandom(),
    log: { write: () => {} },
    releaseKeys: parseReleaseKeys(await Deno.readTextFile(KEYS)),
  });
  const flags = ["--portal", running.url, "--admin", running.adminUrl];
  const keys = portalKeysOf(running.portal.answerKey);
  return {
    flags,
    provenFlags: [...flags, ...keys.flatMap((key) => ["--portal-key", key])],
    agents: () => running.portal.state.agents.size,
    close: running.close,
  };
}
