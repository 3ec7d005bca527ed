import { FIRST_RELEASE, firstRelease } from "../../adapters/portal/first_release.ts";
import type { StoredRelease } from "../../adapters/portal/state.ts";
import type { JsonObject } from "../../core/json.ts";
import { ORIGIN } from "./cluster_portal.ts";
import { programOf, type SimulatedProgram } from "../node/program.ts";

/** The releases of a simulation and the programs in them; all nodes share them. */
export interface Catalogue {
  /** By version, as a portal has them. */
  readonly releases: ReadonlyMap<string, StoredRelease>;
  /** By the URL in the manifest. */
  readonly programs: ReadonlyMap<string, SimulatedProgram>;
  /** The release that brings `agent`; made when it is first asked for. */
  releaseWith(agent: string): string;
}

/** A release whose manifest does not verify. */
export const TAMPERED_RELEASE = "6.6.6";
/** A release that is nowhere. */
export const MISSING_RELEASE = "4.0.4";

const ARTIFACTS = `${ORIGIN}/artifacts`;

/**
 * The portal's first release, a tampered one, and whatever is asked for. `signed` may sign each once for all
 * nodes; else every portal does it.
 */
export function createCatalogue(signed = (release: StoredRelease) => release): Catalogue {
  const first = firstRelease();
  const releases = new Map<string, StoredRelease>([
    [FIRST_RELEASE, signed(first)],
    [
      TAMPERED_RELEASE,
      signed({
        ...first,
        payload: { ...first.payload as JsonObject, version: TAMPERED_RELEASE },
        tampered: true,
      }),
    ],
  ]);
  const programs = new Map<string, SimulatedProgram>();
  const byAgent = new Map<string, string>();

  return {
    releases,
    programs,
    releaseWith(agent) {
      const known = byAgent.get(agent);
      if (known !== undefined) return known;
      // Named by what it brings alone: which node asked first changes no other's life.
      const version = `1.1.0-${agent}`;
      const program = programOf(agent);
      const url = `${ARTIFACTS}/pbx-agent-${agent}`;
      // The wrong hash, of as many bytes: what is fetched is whole and not what the manifest says.
      const sha256 = agent.endsWith("-forged") ? "0".repeat(64) : program.sha256;
      const artifact = { url, sha256, size: program.bytes.length };
      const payload = {
        ...first.payload as JsonObject,
        version,
        agent: { version: agent, artifacts: { amd64: artifact, arm64: artifact } },
      };
      programs.set(url, program);
      releases.set(version, signed({ payload, signedBy: ["first", "second"], tampered: false }));
      byAgent.set(agent, version);
      return version;
    },
  };
}
