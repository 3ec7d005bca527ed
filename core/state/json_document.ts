import type { z } from "zod";
import { isJsonObject } from "../json.ts";
import { isOperationId as isAgentId } from "../protocol/identifiers.ts";
import { scanJson } from "../protocol/json_scan.ts";
import type { Parse } from "./durable.ts";

/** The format that this program writes; a file with a higher number is refused, never overwritten. */
export const FORMAT = 1;

/** A document of the portal may be 64 levels deep (protocol §1); the agent's files hold it a few deeper. */
const RULES = { maxDepth: 80, forbiddenKeys: new Set(["__proto__"]) };

/**
 * Whose a node's files are: the agent's ID; null before the enrollment; undefined where identity.json does
 * not tell, and nothing is compared.
 *
 * Every document of the state directory carries it as `agent` ({@link stamp}), and one that names another
 * agent is unreadable: a file that was copied from another node decides nothing here. A file of an earlier
 * version names none; it is taken, and stamped at the next write.
 */
export type Owner = string | null | undefined;

/** The member that says whose a document is; none where that is not known. */
export function stamp(owner: Owner): { readonly agent?: string | null } {
  return owner === undefined ? {} : { agent: owner };
}

/** The other agent that a document names; null where this one may believe it. */
export function otherOwner(document: unknown, owner: Owner): string | null {
  if (owner === undefined || !isJsonObject(document)) return null;
  const { agent } = document as { readonly agent?: unknown };
  return typeof agent === "string" && isAgentId(agent) && agent !== owner ? agent : null;
}

/** Why a document of another agent is not read, for people. */
export function belongsTo(other: string, owner: Owner): string {
  const mine = typeof owner === "string" ? `this is agent ${owner}` : "this node is not enrolled";
  return `belongs to agent ${other}, and ${mine}`;
}

/**
 * A parser for the agent's own JSON files: `{"format": 1, ...}` in the shape of `schema`. The value comes
 * without its `format`.
 *
 * @param owner whose the file must be, where it says that
 */
export function jsonParser<T extends { readonly format: number }>(
  schema: z.ZodType<T>,
  owner?: Owner,
): Parse<Omit<T, "format">> {
  return (bytes) => {
    let text: string;
    let value: unknown;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      value = JSON.parse(text);
    } catch {
      return { kind: "unreadable", reason: "is no JSON" };
    }
    const { breach } = scanJson(text, RULES);
    if (breach !== null) return { kind: "unreadable", reason: breach };
    if (isJsonObject(value)) {
      const format = value["format"];
      if (typeof format === "number" && format > FORMAT) return { kind: "newer", format };
    }
    const other = otherOwner(value, owner);
    if (other !== null) {
      return { kind: "unreadable", reason: belongsTo(other, owner), owner: other };
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) {
      const { format: _format, ...value } = parsed.data;
      return { kind: "loaded", value };
    }
    // Names the place only: a value might be a key.
    const where = parsed.error.issues[0]?.path.join(".") ?? "";
    return { kind: "unreadable", reason: `has an unexpected shape at '${where}'` };
  };
}

/** The text of a document, readable for people too. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The bytes of a document. */
export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(jsonText(value));
}
