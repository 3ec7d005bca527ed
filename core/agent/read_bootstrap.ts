import { type Bootstrap, loadBootstrap } from "../state/bootstrap.ts";
import type { BoundContext } from "./context.ts";

/** The stored answer to the enrollment as it is now: a key rotation seals it anew. Null where it is lost. */
export async function readBootstrap({ ports, identity }: BoundContext): Promise<Bootstrap | null> {
  const stored = await loadBootstrap(ports.disk, identity.current);
  return stored.ok && stored.value.kind === "loaded" ? stored.value.value : null;
}
