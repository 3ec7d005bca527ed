import type { AddonSetting, DesiredState } from "../protocol/desired_state.ts";
import type { Release } from "../protocol/release.ts";
import { pathText } from "../protocol/schema_error.ts";
import { fail, ok, type Result } from "../result.ts";

/** Why the options of a desired state are not those that its release knows. */
export interface WrongOptions {
  readonly code: "unsealed_secret" | "invalid_desired_state";
  readonly message: string;
}

/**
 * Whether every option stands where the release's template has it: known only with the manifest, and
 * refuses the desired state as a whole (protocol §2). Add-ons that are off are judged too, because their
 * options are stored as well. A secret in clear is told before anything else.
 */
export function checkOptions(
  { addons }: Pick<DesiredState, "addons">,
  release: Release,
): Result<void, WrongOptions> {
  const faults = addons.flatMap((addon) => faultsOfOptions(addon, release));
  const first = faults.find(({ code }) => code === "unsealed_secret") ?? faults[0];
  return first === undefined ? ok(undefined) : fail(first);
}

function faultsOfOptions(addon: AddonSetting, release: Release): WrongOptions[] {
  const { name, options, secret_options: sealed = {} } = addon;
  // An add-on that the release does not have is failed, and the rest of the state is carried out.
  const template = Object.hasOwn(release.addons, name) ? release.addons[name] : undefined;
  if (template === undefined) return [];
  const faults: WrongOptions[] = [];
  for (const [member, given] of Object.entries({ options, secret_options: sealed })) {
    for (const option of Object.keys(given)) {
      const path = pathText(["desired", "addons", name, member, option]).slice(0, MAX_PATH);
      const declared = Object.hasOwn(template.options, option)
        ? template.options[option]
        : undefined;
      if (declared === undefined) {
        const message = `${path}: the add-on's template in release ${release.version} does not ` +
          "know this option";
        faults.push({ code: "invalid_desired_state", message });
      } else if (member === "options" && declared.secret === true) {
        const message = `${path}: is secret by the release's template and must be in ` +
          "secret_options, sealed";
        faults.push({ code: "unsealed_secret", message });
      } else if (member === "secret_options" && declared.secret !== true) {
        const message = `${path}: is not secret by the release's template and must be in options`;
        faults.push({ code: "invalid_desired_state", message });
      }
    }
  }
  return faults;
}

/** Longest path that is shown, characters. */
const MAX_PATH = 200;
