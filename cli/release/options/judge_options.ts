import type { JsonValue } from "../../../core/json.ts";
import type { AddonTemplate, OptionDeclaration, Release } from "../../../core/protocol/release.ts";
import { isNamedDestination, letsDestinationThrough } from "./destination.ts";
import { type Reach, reachOf } from "./reach.ts";

/** Says it of an option that its limits do not say enough on purpose. */
const WAY_OUT = 'or "unlimited": true, if the portal may set what it likes there (SECURITY.md)';

/**
 * What a portal could do with the options of a release that its author cannot mean (trust.md T3): a line for
 * each, which names the add-on, the option and the way out. Malformed limits are no release to begin with.
 */
export function judgeOptions({ addons }: Pick<Release, "addons">): readonly string[] {
  return Object.entries(addons).flatMap(([name, template]) =>
    faultsOf(template).map((fault) => `addons.${name}.${fault}`)
  );
}

function faultsOf(template: AddonTemplate): readonly string[] {
  const reach = reachOf(template);
  if (!reach.ok) return [reach.error];
  const hasSecret = Object.values(template.options).some(({ secret }) => secret === true);
  return Object.entries(template.options).flatMap(([name, option]) => {
    if (option.secret === true) return [];
    const faults = [defaultFault(option)];
    if (option.unlimited !== true) {
      faults.push(limitFault(name, option, reach.value));
      if (hasSecret) faults.push(destinationFault(name, option, reach.value));
    }
    return faults.filter((fault) => fault !== null).map((fault) => `options.${name}: ${fault}`);
  });
}

/** A default of another type: the add-on would fail wherever it is used. */
function defaultFault({ type, default: value }: OptionDeclaration): string | null {
  if (value === undefined || typeOf(value as JsonValue) === type) return null;
  return `its default is not of type ${type}`;
}

/** What reaches a chart's values has to be limited, unless it is a number or a truth value anyway. */
function limitFault(name: string, option: OptionDeclaration, reach: Reach): string | null {
  const isInText = reach.texts.has(name);
  if (!isInText && !reach.values.has(name)) return null;
  const { type, pattern, minimum, maximum, maxLength } = option;
  if (option.enum !== undefined) return null;
  if (type === "object") {
    return `an object reaches the values of a chart, of which it can set any: give it an "enum", ` +
      `make options of its members, ${WAY_OUT}`;
  }
  if (type !== "string" && type !== "array") return null;
  if (pattern !== undefined || minimum !== undefined || maximum !== undefined) return null;
  const what = type === "array" ? "a list" : "a text";
  if (maxLength === undefined) {
    const limits = type === "array" ? 'a "pattern" for its entries' : 'a "pattern" or an "enum"';
    return `${what} without a limit reaches the values of a chart: give it ${limits}, ${WAY_OUT}`;
  }
  if (!isInText) return null;
  return `${what} becomes part of a text of the chart, where a line break or a colon in it can set ` +
    `other values, and "maxLength" does not keep them out: give it a "pattern" or an "enum", put it ` +
    `into "values" as a value of its own, ${WAY_OUT}`;
}

/** Beside a secret a portal must not choose where it is sent. */
function destinationFault(name: string, option: OptionDeclaration, reach: Reach): string | null {
  const { type } = option;
  if (option.enum !== undefined || type === "number" || type === "boolean") return null;
  const isUsed = [reach.values, reach.texts, reach.elsewhere].some((place) => place.has(name));
  const why = isNamedDestination(name)
    ? "is a URL or a host by its name"
    : isUsed && letsDestinationThrough(option)
    ? "can be a URL, a host or an IP address"
    : null;
  if (why === null) return null;
  return `${why} and stands beside a secret option, which could be sent there: give it an "enum"` +
    `${isNamedDestination(name) ? "" : ' or a "pattern" without dots and slashes'}, ${WAY_OUT}`;
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
