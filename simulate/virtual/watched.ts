import type { KeyWork } from "../../core/protocol/key_work.ts";
import type { SimulatedNode } from "../node/node.ts";
import type { ClusterPortal } from "./cluster_portal.ts";
import type { Owner } from "./owner.ts";
import type { PortalClock } from "./portal_clock.ts";
import type { Timeline } from "./timeline.ts";

/** What a watch looks at. */
export interface Watched {
  readonly timeline: Timeline;
  readonly node: SimulatedNode;
  readonly portal: ClusterPortal;
  readonly owner: Owner;
  /** The clock of its portal. */
  readonly portalClock: PortalClock;
  /** How what is sealed is opened. */
  readonly keyWork: Required<KeyWork>;
  /** A rule is broken: its name, and how. */
  readonly broken: (rule: string, how: string) => void;
}

/** The first secret that a text holds, shortened; null where it holds none. */
export function secretIn(text: string, secrets: Iterable<string>): string | null {
  for (const secret of secrets) {
    if (text.includes(secret)) return `${secret.slice(0, 12)}...`;
  }
  return /token-[0-9]+-in-clear/.exec(text)?.[0] ?? null;
}
