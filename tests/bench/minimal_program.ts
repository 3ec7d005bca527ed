import { fileURLToPath } from "node:url";
import type { EnrolledNode, SeenRequest } from "../lab/enrolled_node.ts";

/** The source of the minimal program, below the repository. */
export const MINIMAL_ENTRY = "tests/bench/minimal_main.ts";

/** A path of the portal that only the minimal program asks for. It is refused, at next to no cost. */
const PATH = "/minimal";

/** The minimal program's arguments for that portal; `pauseMs` makes it go on for ever. */
export function minimalArgs({ portal }: EnrolledNode, pauseMs?: number): readonly string[] {
  return [portal.url + PATH, ...(pauseMs === undefined ? [] : [String(pauseMs)])];
}

/** Whether the request is the minimal program's. */
export function isMinimal({ path }: SeenRequest): boolean {
  return path === PATH;
}

/** The command line that runs the minimal program from its source. */
export function minimalCommand(world: EnrolledNode, pauseMs?: number): readonly string[] {
  const entry = fileURLToPath(new URL("minimal_main.ts", import.meta.url));
  return ["run", "-A", "--no-check", "--no-config", entry, ...minimalArgs(world, pauseMs)];
}
