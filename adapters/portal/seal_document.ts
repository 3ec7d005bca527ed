import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { boundText } from "../../core/protocol/bound_box.ts";
import { type Seal, seal as sealInScript } from "../../core/protocol/sealing.ts";
import type { Random } from "../../core/ports/random.ts";

/** How boxes are made: a portal has all of it. */
interface Sealing {
  readonly random: Random;
  readonly seal?: Seal;
  /** Where boxes are kept; without it each is made anew. */
  readonly boxes?: Boxes;
}

/** The position of a place in a document, by its steps from the root (trust.md T1). */
export type PositionOf = (steps: readonly string[]) => string;

/** Boxes that were made, by what stands for the secret in the document and the key that they are for. */
export type Boxes = WeakMap<JsonObject, Map<string, string>>;

/**
 * Turns what an admin wrote into what an agent gets. `{"plain": "text"}` becomes a sealed box to
 * `publicKey`; with `"to": "<base64 key>"` beside it, a box that this agent cannot open.
 * `{"verbatim": x}` becomes `x` as it is, and `{"raw_json": "1e400"}` the number or the string that this
 * JSON text says, character by character: a JavaScript value could not hold all of them. Where boxes are
 * kept, a secret that stands in the answer to an enrollment and in the desired state is sealed once.
 * `positionOf`: what boxes are bound to; with `"unbound": true` beside the text one is not, as a portal
 * makes it that knows nothing of positions.
 */
export function sealDocument(
  document: JsonValue,
  publicKey: string,
  positionOf: PositionOf,
  { random, seal = sealInScript, boxes }: Sealing,
): JsonValue {
  return mapMarks(document, (mark, place, steps) => {
    if ("verbatim" in mark) return mark.verbatim;
    if ("raw_json" in mark) return JSON.rawJSON(mark.raw_json) as unknown as JsonValue;
    const to = mark.to ?? publicKey;
    const known = boxes?.get(place)?.get(to);
    if (known !== undefined) return { sealed: known };
    const key = decodeBase64(to) ?? new Uint8Array(32);
    const position = mark.position ?? positionOf(steps);
    const text = mark.unbound === true ? mark.plain : boundText(position, mark.plain);
    const sealed = seal(new TextEncoder().encode(text), key, random.bytes(32));
    if (boxes !== undefined) keep(boxes, place, to, sealed);
    return { sealed };
  });
}

function keep(boxes: Boxes, place: JsonObject, to: string, sealed: string): void {
  const made = boxes.get(place);
  if (made === undefined) boxes.set(place, new Map([[to, sealed]]));
  else made.set(to, sealed);
}

/** The document with every secret's text replaced, for people to look at. */
export function redactDocument(document: JsonValue): JsonValue {
  return mapMarks(document, (mark) => {
    return "plain" in mark ? { ...mark, plain: "[secret]" } : { ...mark };
  });
}

/** Whether every box that is made of a document is bound to its position. */
export function isBinding(document: JsonValue): boolean {
  let isBound = true;
  mapMarks(document, (mark) => {
    if ("plain" in mark && mark.unbound === true) isBound = false;
    return null;
  });
  return isBound;
}

/** Every secret that a document holds in clear. */
export function plainSecrets(document: JsonValue): string[] {
  const found: string[] = [];
  mapMarks(document, (mark) => {
    if ("plain" in mark) found.push(mark.plain);
    return null;
  });
  return found;
}

/** What the portal replaces; any other object is content. */
const Mark = z.union([
  z.strictObject({
    plain: z.string(),
    to: z.string().refine((key) => decodeBase64(key)?.length === 32).optional(),
    position: z.string().optional(),
    unbound: z.boolean().optional(),
  }),
  z.strictObject({ verbatim: z.json() }),
  z.strictObject({ raw_json: z.string().refine(isRawJson) }),
]);
type Mark =
  | {
    readonly plain: string;
    readonly to?: string;
    /** Another position than the one that it stands at. */
    readonly position?: string;
    readonly unbound?: boolean;
  }
  | { readonly verbatim: JsonValue }
  | { readonly raw_json: string };

/** Not in the library of types yet. */
declare global {
  interface JSON {
    /** What is written out as this text, which says a JSON value that is neither object nor list. */
    rawJSON(text: string): object;
  }
}

function isRawJson(text: string): boolean {
  try {
    JSON.rawJSON(text);
    return true;
  } catch {
    return false;
  }
}

function markOf(value: JsonObject): Mark | null {
  if (!("plain" in value) && !("verbatim" in value) && !("raw_json" in value)) return null;
  const mark = Mark.safeParse(value);
  return mark.success ? mark.data as Mark : null;
}

function mapMarks(
  value: JsonValue,
  replace: (mark: Mark, place: JsonObject, steps: readonly string[]) => JsonValue,
  steps: readonly string[] = [],
): JsonValue {
  const map = (item: JsonValue, step: string) => mapMarks(item, replace, [...steps, step]);
  if (Array.isArray(value)) return value.map((item, index) => map(item, String(index)));
  if (!isJsonObject(value)) return value;
  const mark = markOf(value);
  if (mark !== null) return replace(mark, value, steps);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, map(item, key)]));
}
