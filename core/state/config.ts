import { type Document, isMap, isScalar, parseDocument, visit } from "yaml";
import { DnsLabel } from "../protocol/identifiers.ts";
import { isLoopbackHost } from "../protocol/loopback.ts";
import { fail, ok } from "../result.ts";
import type { Result } from "../result.ts";
import { Secret } from "../secret.ts";
import { portalBase } from "./portal_url.ts";
import { readTrust, TRUST_MEMBERS, type TrustConfig } from "./trust_config.ts";

/** `/etc/pbx-agent/config.yaml` (operations.md, Files). */
export interface Config {
  /** Base URL of the portal, without a slash at its end. */
  readonly portal: string;
  readonly clusterId: string;
  readonly nodeName: string;
  /** There until it is used. */
  readonly enrollmentToken?: Secret;
  /** PEM file with certificate authorities to trust beside the system's. */
  readonly caFile?: string;
  /** For labs: a metadata service on loopback. */
  readonly metadataUrl?: string;
  /** What proves an order (trust.md). */
  readonly trust: TrustConfig;
  /** Keys that mean nothing to this version. */
  readonly unknown: readonly string[];
}

const KNOWN = [
  "portal",
  "cluster_id",
  "node_name",
  "enrollment_token",
  "ca_file",
  "metadata_url",
  ...TRUST_MEMBERS,
];

/** Reads the configuration's text. The error says which key is wrong and what would be right. */
export function parseConfig(text: string): Result<Config, string> {
  const yaml = readYaml(text);
  if (!yaml.ok) return yaml;
  const values: unknown = yaml.value.toJS();
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    return fail("is no mapping of keys to values");
  }
  const entries = new Map(Object.entries(values));

  const problems: string[] = [];
  function textOf(key: string, required: boolean): string | undefined {
    const value: unknown = entries.get(key);
    if (value === undefined || value === null) {
      if (required) problems.push(`'${key}' is missing`);
      return undefined;
    }
    if (typeof value === "string" && value.trim() !== "") return value.trim();
    problems.push(`'${key}' must be a text that is not empty`);
    return undefined;
  }

  const portal = textOf("portal", true);
  const base = portal === undefined ? undefined : portalBase(portal);
  if (base !== undefined && !base.ok) problems.push(`'portal': ${base.error}`);
  const clusterId = textOf("cluster_id", true);
  const nodeName = textOf("node_name", true);
  for (const [key, value] of [["cluster_id", clusterId], ["node_name", nodeName]]) {
    if (value !== undefined && !DnsLabel.safeParse(value).success) {
      problems.push(`'${key}': '${value}' is no DNS-1123 label`);
    }
  }
  const token = textOf("enrollment_token", false);
  const caFile = textOf("ca_file", false);
  if (caFile !== undefined && !/^(?:\/(?!\.{1,2}(?:\/|$))[^/\0]+)+$/.test(caFile)) {
    problems.push(`'ca_file': '${caFile}' is no absolute path without '.' and '..'`);
  }
  const metadataUrl = textOf("metadata_url", false);
  if (metadataUrl !== undefined && !isLoopbackUrl(metadataUrl)) {
    problems.push(`'metadata_url': '${metadataUrl}' is not on loopback; it is for labs only`);
  }
  const trust = readTrust(entries, problems);

  if (problems.length > 0 || !base?.ok || clusterId === undefined || nodeName === undefined) {
    return fail(problems.join("; "));
  }
  return ok({
    portal: base.value,
    clusterId,
    nodeName,
    ...(token === undefined ? {} : { enrollmentToken: new Secret(token) }),
    ...(caFile === undefined ? {} : { caFile }),
    ...(metadataUrl === undefined ? {} : { metadataUrl }),
    trust,
    unknown: [...entries.keys()].filter((key) => !KNOWN.includes(key)),
  });
}

/** The document of a text that has none of the things that this file need not have. */
function readYaml(text: string): Result<Document.Parsed, string> {
  // The library's own message quotes the line, and with it perhaps the token.
  const invalid = fail("is no valid YAML: check its indentation and quotes");
  try {
    const document = parseDocument(text, { uniqueKeys: true, logLevel: "error" });
    if (document.errors.length > 0) return invalid;
    // What an alias stands for could not be cut out of the text without breaking the alias.
    return hasAlias(document)
      ? fail("has a YAML alias (*name): write the value itself")
      : ok(document);
  } catch {
    // Nested without end, it is too much for the parser's stack.
    return invalid;
  }
}

function hasAlias(document: Document.Parsed): boolean {
  let found = false;
  visit(document, {
    Alias() {
      found = true;
      return visit.BREAK;
    },
  });
  return found;
}

function isLoopbackUrl(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && isLoopbackHost(new URL(text).hostname);
}

/**
 * The configuration without its enrollment token; every other byte stays, comments included
 * (operations.md, First start, step 4). Null where there is no token in it, or where it is no YAML: the
 * next start refuses it then.
 */
export function withoutToken(text: string): string | null {
  const yaml = readYaml(text);
  if (!yaml.ok) return null;
  const document = yaml.value;
  const map = document.contents;
  if (!isMap(map)) return null;
  const pair = map.items.find((item) =>
    isScalar(item.key) && item.key.value === "enrollment_token"
  );
  if (pair === undefined) return null;

  const cut = cutLines(text, pair.key, pair.value);
  document.delete("enrollment_token");
  const wanted = JSON.stringify(document.toJS() ?? {});
  if (cut !== null) {
    const rest = readYaml(cut);
    if (rest.ok && JSON.stringify(rest.value.toJS() ?? {}) === wanted) return cut;
  }
  // A flow mapping on one line, for example: the library writes it anew.
  return document.toString();
}

/** The text without the lines from the key's first to the value's last, or null where unknown. */
function cutLines(text: string, key: unknown, value: unknown): string | null {
  const from = isScalar(key) ? key.range?.[0] : undefined;
  const to = isScalar(value) ? value.range?.[1] : undefined;
  if (from === undefined || to === undefined) return null;
  const start = text.lastIndexOf("\n", from - 1) + 1;
  const newline = text.indexOf("\n", Math.max(to - 1, from));
  return text.slice(0, start) + (newline < 0 ? "" : text.slice(newline + 1));
}
