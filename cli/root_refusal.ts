import { createRoot } from "../adapters/node/root.ts";
import { STATE_DIRECTORY } from "../core/state/paths.ts";

/**
 * Why this program cannot work on a machine below `root` (`--root DIR`): the paths that a compiled one may
 * reach are baked into it. Null where it can.
 */
export function rootRefusal(root: string | undefined): string | null {
  if (root === undefined) return null;
  const path = createRoot(root)(STATE_DIRECTORY);
  const { state } = Deno.permissions.querySync({ name: "write", path });
  return state === "granted" ? null : `--root ${root} is for labs: this program may reach the ` +
    "machine's own paths only; run the agent from its sources ('deno task agent')";
}
