import { isJsonObject, type JsonValue } from "../../../core/json.ts";
import { TemplateFault } from "../../../core/cluster/template/budget.ts";
import type { AddonTemplate } from "../../../core/protocol/release.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import { type Data, dataOf, dataOfText, firstNames, type Names, operationOf } from "./data_of.ts";

/** Where the options of a template get to, by all of its branches. */
export interface Reach {
  /** The values of a chart, as values: whatever an option says, it stays one value. */
  readonly values: ReadonlySet<string>;
  /** A text of a chart's values, or another member of the chart: there an option can become structure. */
  readonly texts: ReadonlySet<string>;
  /** Anything else of an object than its name and its other metadata. */
  readonly elsewhere: ReadonlySet<string>;
}

/** Which options of a template reach what; fails where an expression cannot be read. */
export function reachOf({ options, objects }: AddonTemplate): Result<Reach, string> {
  const reach = {
    values: new Set<string>(),
    texts: new Set<string>(),
    elsewhere: new Set<string>(),
  };
  try {
    walkObjects(objects as JsonValue, firstNames(Object.keys(options)), reach);
    return ok(reach);
  } catch (cause) {
    if (!(cause instanceof TemplateFault)) throw cause;
    return fail(`objects: the template cannot be read: ${cause.message}`);
  }
}

interface Found {
  readonly values: Set<string>;
  readonly texts: Set<string>;
  readonly elsewhere: Set<string>;
}

/** A list of objects, or one of them, or what makes some. */
function walkObjects(part: JsonValue, names: Names, found: Found): void {
  if (Array.isArray(part)) return part.forEach((item) => walkObjects(item, names, found));
  if (!isJsonObject(part)) return;
  if (walkOperation(part, names, found.texts, (inner, known) => walkObjects(inner, known, found))) {
    return;
  }
  const { kind } = part;
  // A part that does not say its kind may be one of a chart.
  const isOther = typeof kind === "string" && !kind.includes("$") && !kind.startsWith("HelmChart");
  for (const [key, value] of Object.entries(part)) {
    note(dataOfText(key, names), found.texts);
    if (key === "apiVersion" || key === "kind" || key === "metadata" || key === "status") continue;
    if (isOther) note(dataOf(value, names), found.elsewhere);
    else walkSpec(value, names, found);
  }
}

/** The spec of a chart, or parts that are put together to one. */
function walkSpec(part: JsonValue, names: Names, found: Found): void {
  if (Array.isArray(part)) return part.forEach((item) => walkSpec(item, names, found));
  if (!isJsonObject(part)) return note(dataOf(part, names), found.texts);
  if (walkOperation(part, names, found.texts, (inner, known) => walkSpec(inner, known, found))) {
    return;
  }
  for (const [key, value] of Object.entries(part)) {
    note(dataOfText(key, names), found.texts);
    if (key === "values") note(dataOf(value, names), found.values);
    else if (key === "valuesContent") walkContent(value, names, found);
    else note(dataOf(value, names), found.texts);
  }
}

/** Values as a text: `$json` keeps each a value, anything else puts texts together. */
function walkContent(part: JsonValue, names: Names, found: Found): void {
  if (!isJsonObject(part)) return note(dataOf(part, names), found.texts);
  if (Object.hasOwn(part, "$json")) return note(dataOf(part, names), found.values);
  walkOperation(part, names, found.texts, (inner, known) => walkContent(inner, known, found));
}

/** Looks into each part that an operator may put in its place. Says whether it is an operator at all. */
function walkOperation(
  part: { readonly [key: string]: JsonValue },
  names: Names,
  texts: Set<string>,
  walk: (part: JsonValue, names: Names) => void,
): boolean {
  const operation = operationOf(part, names);
  if (operation === null) return false;
  note(operation.more, texts);
  if (operation.expression !== null) note(dataOf(part, names), texts);
  for (const one of operation.parts) walk(one.part, one.names);
  return true;
}

function note({ options }: Data, into: Set<string>): void {
  for (const option of options) into.add(option);
}
