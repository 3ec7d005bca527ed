import type { KeyWork } from "../../core/protocol/key_work.ts";
import { STATE_FILE } from "../../core/state/paths.ts";
import type { SimulatedNode } from "../node/node.ts";
import type { ClusterPortal } from "./cluster_portal.ts";
import type { Owner } from "./owner.ts";
import type { Timeline } from "./timeline.ts";

/** What a watch looks at. */
export interface Watched {
  readonly timeline: Timeline;
  readonly node: SimulatedNode;
  readonly portal: ClusterPortal;
  readonly owner: Owner;
  /** How what is sealed is opened. */
  readonly keyWork: Required<KeyWork>;
  /** A rule is broken: its name, and how. */
  readonly broken: (rule: string, how: string) => void;
}

/** The revision in state.json; null where there is none. */
export function storedRevision(node: SimulatedNode): number | null {
  return storedState(node)?.desired?.state?.revision ?? null;
}

/** The ID of the operation in state.json; null where there is none. */
export function storedOperation(node: SimulatedNode): string | null {
  return storedState(node)?.operation?.id ?? null;
}

/** What a crash leaves of state.json in any case; null where that is nothing. */
export function storedState({ disk }: SimulatedNode) {
  const text = disk.lastingText(STATE_FILE);
  return text === null || text === "" ? null : JSON.parse(text);
}

/** The first secret that a text holds, shortened; null where it holds none. */
export function secretIn(text: string, secrets: Iterable<string>): string | null {
  for (const secret of secrets) {
    if (text.includes(secret)) return `${secret.slice(0, 12)}...`;
  }
  return /token-[0-9]+-in-clear/.exec(text)?.[0] ?? null;
}
