import { STATE_FILE } from "../../core/state/paths.ts";
import type { SimulatedNode } from "../node/node.ts";

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
