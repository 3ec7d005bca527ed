import * as z from "zod";
import type { JsonValue } from "../../core/json.ts";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { openSealed, type SealingKey } from "../../core/protocol/sealing.ts";
import type { SealedAt, UnsealedSecret } from "../../core/protocol/secret_positions.ts";
import type { Result } from "../../core/result.ts";
import { findingOf, type Kit } from "./kit.ts";
import type { RuleId } from "./rules.ts";
import type { Exchange } from "./wire.ts";

type Issue = z.core.$ZodIssue;

/**
 * Judges a document by its schema. A fault that has a rule of its own (a time, an identifier, an unknown
 * field beside a secret) is told there and not under `rule`. Gives the document, or null with any fault.
 */
export function judgeDocument<T>(
  kit: Kit,
  rule: RuleId,
  schema: z.ZodType<T>,
  value: JsonValue | undefined,
  exchange: Exchange,
): T | null {
  const parsed = schema.safeParse(value);
  const issues = parsed.success ? [] : parsed.error.issues;
  const faulty = new Set<RuleId>();
  for (const issue of issues) {
    const broken = ruleOf(issue, rule);
    faulty.add(broken);
    const came = describeIssue(new z.ZodError([issue]));
    kit.book.fail(
      broken,
      findingOf(exchange, `the schema of ${rule.replace(".schema", "")}`, came),
    );
  }
  const seen: RuleId[] = [rule, "times.rfc3339", "identifiers", "sealing.known_members"];
  if (JSON.stringify(value)?.includes('"etcd_s3":{') === true) seen.push("secrets.s3_target");
  for (const other of seen) if (!faulty.has(other)) kit.book.pass(other);
  return parsed.success ? parsed.data : null;
}

function ruleOf(issue: Issue, rule: RuleId): RuleId {
  const last = issue.path.at(-1);
  if (issue.code === "unrecognized_keys") return "sealing.known_members";
  if (last === "time" || last === "created_at" || last === "expires_at") return "times.rfc3339";
  if (last === "desired_tag") return "sync.tag";
  if (last === "servers") return "desired.servers";
  if (last === "url") return "manifest.urls";
  const isTarget = issue.path.includes("etcd_s3") && TARGET.some((name) => name === last);
  if (isTarget && issue.code !== "invalid_type") return "secrets.s3_target";
  return issue.code === "invalid_key" || IDENTIFIER.test(issue.message) ? "identifiers" : rule;
}

/** What says where a bucket is. */
const TARGET = ["endpoint", "bucket", "region", "folder"];

/** What core says of an identifier that is none. */
const IDENTIFIER = /^is no (?:DNS-1123 label|agent ID|release version|server ID)/;

/**
 * Judges a document's secrets: sealed, and opened by one of `keys`. What is found inside is from then on
 * looked for in clear. Says whether all is well.
 */
export function judgeSecrets(
  kit: Kit,
  rules: { readonly sealed: RuleId; readonly opens: RuleId },
  found: Result<readonly SealedAt[], UnsealedSecret>,
  keys: readonly SealingKey[],
  exchange: Exchange,
): boolean {
  if (!found.ok) {
    kit.book.fail(rules.sealed, findingOf(exchange, "a sealed box", found.error.message));
    return false;
  }
  let areOpen = true;
  for (const { path, box } of found.value) {
    const opened = openSealed(box, keys);
    kit.book.pass(rules.sealed);
    if (opened.ok) {
      kit.book.pass(rules.opens);
      kit.secrets.add(opened.value.reveal());
    } else {
      areOpen = false;
      const came = `${path}: ${opened.error.message}`;
      kit.book.fail(rules.opens, findingOf(exchange, "a box for the agent's present key", came));
    }
  }
  return areOpen;
}

/** The same value with every box that opens replaced by its text, keys in order: to compare by content. */
export function contentOf(value: JsonValue, keys: readonly SealingKey[]): string {
  return JSON.stringify(value, (_key, item) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    const entries = Object.entries(item);
    const box = entries.length === 1 ? (item as { sealed?: unknown }).sealed : undefined;
    const opened = typeof box === "string" ? openSealed(box, keys) : null;
    if (opened?.ok) return ["opened", opened.value.reveal()];
    return Object.fromEntries(entries.sort(([one], [other]) => one < other ? -1 : 1));
  });
}
