import type { DesiredState } from "../protocol/desired_state.ts";
import { unnamedRegistry } from "../protocol/registries.ts";
import type { Release } from "../protocol/release.ts";
import { fail, ok, type Result } from "../result.ts";

/**
 * Whether every registry and endpoint of a desired state is one that its release names (trust.md T3). Where
 * the owner has keys, the owner approves them instead. The error is for people.
 */
export function checkRegistries(
  { host }: Pick<DesiredState, "host">,
  { version, k3s }: Pick<Release, "version" | "k3s">,
): Result<void, string> {
  const unnamed = unnamedRegistry(host.registries ?? {}, k3s?.registries ?? []);
  if (unnamed === null) return ok(undefined);
  return fail(
    `host.registries: ${unnamed} is not one that release ${version} names: add it to ` +
      "k3s.registries of a signed release, or set approval_keys in config.yaml and approve it",
  );
}
