import type { Clock } from "../../core/ports/clock.ts";
import type { Http } from "../../core/ports/http.ts";
import type { Random } from "../../core/ports/random.ts";
import type { Arch } from "../../core/protocol/enroll.ts";
import type { Hands } from "./hands.ts";
import type { TokenEntry } from "./token_entry.ts";

/** What a walk through the protocol needs. */
export interface ConformanceOptions {
  /** The protocol's base, without a slash at its end. */
  readonly base: string;
  /** In their order: the first is for the agent that does most. */
  readonly tokens: readonly TokenEntry[];
  /** Public halves of the release keys, 32 bytes each; none: signatures of manifests are not judged. */
  readonly releaseKeys: readonly Uint8Array[];
  /** Public halves of the portal's keys, 32 bytes each; none: the proof of answers is not judged. */
  readonly portalKeys: readonly Uint8Array[];
  /** What the kit says it is; the same as in the client's `User-Agent`. */
  readonly agentVersion: string;
  readonly arch: Arch;
  /** Tries what takes minutes, too. */
  readonly patient: boolean;
  /** Reports sent in a row to see a 429; 0: none. */
  readonly burst: number;
  /** Does at the portal what no agent can; null: what needs it is skipped. */
  readonly hands: Hands | null;
  readonly http: Http;
  readonly clock: Clock;
  readonly random: Random;
  /** Hears what is tried now. */
  readonly progress?: (line: string) => void;
}
