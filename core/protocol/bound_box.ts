import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import * as z from "zod";
import { fail, ok, type Result } from "../result.ts";
import { Secret } from "../secret.ts";
import { decodeBase64 } from "./base64.ts";

/**
 * Bound boxes (trust.md T1). The text in a box begins with a line that says where its secret may stand, so
 * that a box which was sealed for one position is of no use at another: whoever can put boxes into answers
 * cannot make the agent send a secret to a place of his own.
 */

/** What a bound text begins with; the position follows, up to the first line feed. */
const HEADER = "pbx-seal-1 ";

/** A secret in a position that it was not sealed for. The message shows no secret. */
export interface MisplacedSecret {
  readonly code: "misplaced_secret";
  readonly message: string;
}

/** The text of a box for `position`: the header, then the secret. */
export function boundText(position: string, secret: string): string {
  return `${HEADER}${position}\n${secret}`;
}

/** What a box held: the secret, and the position that its header names; null where it has no header. */
export interface BoxText {
  readonly position: string | null;
  readonly secret: Secret<string>;
}

/** Takes the text of a box apart. A header without an end names no position that there is. */
export function readBoxText(text: Secret<string>): BoxText {
  const whole = text.reveal();
  if (!whole.startsWith(HEADER)) return { position: null, secret: text };
  const end = whole.indexOf("\n");
  if (end < 0) return { position: "", secret: new Secret("") };
  return {
    position: whole.slice(HEADER.length, end),
    secret: new Secret(whole.slice(end + 1)),
  };
}

/** What identifies a box: hex SHA-256 of its decoded bytes, whatever its base64 looks like. */
export function boxId(box: string): string {
  return bytesToHex(sha256(decodeBase64(box) ?? new TextEncoder().encode(box)));
}

/** Where unbound boxes came first, by their {@link boxId}; they are valid there only. */
export const KnownBoxes = z.record(z.string(), z.string());
/** The positions by ID. */
export type KnownBoxes = Readonly<Record<string, string>>;

/** What decides whether a box may stand where it does. */
export interface BoxPolicy {
  /** Unbound boxes are refused. */
  readonly isBoundRequired: boolean;
  /** The unbound boxes that are stored. */
  readonly known: KnownBoxes;
}

/** A box of a document, opened. */
export interface PlacedBox {
  /** Where it stands, for people: the path in its document. */
  readonly path: string;
  /** Where it stands, as trust.md T1 names positions. */
  readonly position: string;
  readonly box: string;
  readonly text: BoxText;
}

/**
 * Whether every box may stand where it does. Gives the unbound ones among them by their ID, to be known
 * from now on: those of one document count for each other too.
 */
export function judgePlaces(
  boxes: readonly PlacedBox[],
  { isBoundRequired, known }: BoxPolicy,
): Result<KnownBoxes, MisplacedSecret> {
  const unbound = new Map<string, string>();
  for (const { path, position, box, text } of boxes) {
    if (text.position !== null) {
      if (boundPlace(text.position) === boundPlace(position)) continue;
      return misplaced(path, `the sealed box is bound to ${shown(text.position)}`);
    }
    if (isBoundRequired) {
      return misplaced(path, "the sealed box is not bound to its position, as it has to be");
    }
    const id = boxId(box);
    const before = unbound.get(id) ?? (Object.hasOwn(known, id) ? known[id] : undefined);
    if (before !== undefined && unboundPlace(before) !== unboundPlace(position)) {
      return misplaced(
        path,
        `the sealed box came first as ${shown(before)} and is valid there only`,
      );
    }
    unbound.set(id, before ?? position);
  }
  return ok(Object.fromEntries(unbound));
}

/** The answer to an enrollment and the desired state name the same secrets. */
function boundPlace(position: string): string {
  return position.replace(/^(?:enroll|desired):/, "cluster:");
}

/** Of an unbound box nobody knows which of two S3 keys it is, nor for which operation it was made. */
function unboundPlace(position: string): string {
  const place = boundPlace(position).replace(/^operation:[^:]*:/, "operation:");
  return /^(?:operation:params|cluster:secrets\.etcd_s3)\.(?:access_key|secret_key)$/.test(place)
    ? "s3 key"
    : place;
}

function shown(position: string): string {
  return JSON.stringify(position.slice(0, 120));
}

function misplaced(path: string, why: string): Result<never, MisplacedSecret> {
  return fail({ code: "misplaced_secret", message: `${path.slice(0, 200)}: ${why}` });
}
