import type { JsonValue } from "../json.ts";
import type { AddonSetting, DesiredState } from "../protocol/desired_state.ts";
import { brokenLimit, type LimitedOption } from "../protocol/option_limits.ts";
import { type Work, workOfOptions } from "../protocol/pattern/pattern.ts";
import type { OptionDeclaration, Release } from "../protocol/release.ts";
import { pathText } from "../protocol/schema_error.ts";
import { openSealed, type SealingKey } from "../protocol/sealing.ts";
import { fail, ok, type Result } from "../result.ts";

/** Why the options of a desired state are not those that its release knows. */
export interface WrongOptions {
  readonly code: "unsealed_secret" | "invalid_desired_state";
  readonly message: string;
}

/** What options are judged by. */
interface Judging {
  readonly release: Release;
  readonly keys: readonly SealingKey[];
  readonly work: Work;
}

/**
 * Whether every option stands where the release's template has it, and keeps the limits there: known only
 * with the manifest, and refuses the desired state as a whole (protocol §2, trust.md T3). Add-ons that are
 * off are judged too, because their options are stored as well. A secret in clear is told before anything
 * else. `keys` open the secrets that have limits; one that none of them opens is not judged here.
 */
export function checkOptions(
  { addons }: Pick<DesiredState, "addons">,
  release: Release,
  keys: readonly SealingKey[] = [],
): Result<void, WrongOptions> {
  const judging = { release, keys, work: workOfOptions() };
  const faults = addons.flatMap((addon) => faultsOfOptions(addon, judging));
  const first = faults.find(({ code }) => code === "unsealed_secret") ?? faults[0];
  return first === undefined ? ok(undefined) : fail(first);
}

function faultsOfOptions(addon: AddonSetting, judging: Judging): WrongOptions[] {
  const { name, options, secret_options: sealed = {} } = addon;
  const { release } = judging;
  // An add-on that the release does not have is failed, and the rest of the state is carried out.
  const template = Object.hasOwn(release.addons, name) ? release.addons[name] : undefined;
  if (template === undefined) return [];
  const faults: WrongOptions[] = [];
  const inPlace = (place: Place, why: string, code: WrongOptions["code"]) =>
    faults.push({ code, message: `${pathOf(place)}: ${why}` });
  for (const [member, given] of Object.entries({ options, secret_options: sealed })) {
    for (const [option, value] of Object.entries(given)) {
      const place: Place = ["addons", name, member, option];
      const declared = Object.hasOwn(template.options, option)
        ? template.options[option]
        : undefined;
      if (declared === undefined) {
        const why = `the add-on's template in release ${release.version} does not know this option`;
        inPlace(place, why, "invalid_desired_state");
      } else if (member === "options" && declared.secret === true) {
        const why = "is secret by the release's template and must be in secret_options, sealed";
        inPlace(place, why, "unsealed_secret");
      } else if (member === "secret_options" && declared.secret !== true) {
        const why = "is not secret by the release's template and must be in options";
        inPlace(place, why, "invalid_desired_state");
      } else {
        const message = limitFault(place, declared, value as JsonValue, judging);
        if (message !== null) faults.push({ code: "invalid_desired_state", message });
      }
    }
  }
  return faults;
}

/** Says which limit the value of an option breaks; a secret one is not shown. */
function limitFault(
  place: Place,
  declared: OptionDeclaration,
  value: JsonValue,
  { release, keys, work }: Judging,
): string | null {
  const isSecret = declared.secret === true;
  const judged = isSecret ? openedIn(value, declared, keys) : value;
  if (judged === null && isSecret) return null;
  const broken = brokenLimit(declared as LimitedOption, judged, work);
  if (broken === null) return null;
  const { entry, limit } = broken;
  const what = isSecret ? "the secret" : beginning(JSON.stringify(broken.value), MAX_VALUE);
  return `${pathOf(entry === null ? place : [...place, entry])}: ${what} breaks the limit ` +
    `${beginning(limit, MAX_LIMIT)} of the add-on's template in release ${release.version}`;
}

/** The secret in a box; null where it has no limits, and is therefore left closed, or does not open. */
function openedIn(
  box: JsonValue,
  declared: OptionDeclaration,
  keys: readonly SealingKey[],
): string | null {
  const { pattern, maxLength, enum: allowed } = declared;
  if (pattern === undefined && maxLength === undefined && allowed === undefined) return null;
  const opened = openSealed((box as { sealed: string }).sealed, keys);
  return opened.ok ? opened.value.reveal() : null;
}

type Place = readonly PropertyKey[];

function pathOf(place: Place): string {
  return pathText(["desired", ...place]).slice(0, MAX_PATH);
}

/** The first characters of a text, none of them halved. */
function beginning(text: string, most: number): string {
  return text.length <= most ? text : `${[...text.slice(0, 2 * most)].slice(0, most).join("")}...`;
}

/** Longest path, value and limit that are shown, characters. */
const MAX_PATH = 200;
const MAX_VALUE = 80;
const MAX_LIMIT = 120;
