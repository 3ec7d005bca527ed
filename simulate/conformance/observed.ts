import { isJsonObject } from "../../core/json.ts";
import { decodeBase64, encodeBase64 } from "../../core/protocol/base64.ts";
import { readBody } from "../../core/protocol/json_body.ts";
import { retryAfterMs } from "../../core/protocol/retry_after.ts";
import { findingOf, type Kit } from "./kit.ts";
import type { RuleId } from "./rules.ts";
import type { Answer } from "./wire.ts";

const MOST_BYTES = 262_144;
/** Shorter ones stand in an answer by chance. */
const SHORTEST_SECRET = 8;

/** A rule that holds for every answer: what is wrong with this one, null, or not about it. */
interface Observed {
  readonly rule: RuleId;
  readonly expected: string;
  fault(answer: Answer, kit: Kit): string | null | "not about it";
}

/** The rules that hold for whatever was asked. */
const OBSERVED: readonly Observed[] = [
  {
    rule: "answer.status",
    expected: "200",
    fault: ({ status }) =>
      status < 200 || status > 299 ? "not about it" : status === 200 ? null : `${status}`,
  },
  {
    rule: "answer.redirect",
    expected: "no redirect",
    fault: ({ status }) => status >= 300 && status < 400 ? `${status}` : null,
  },
  {
    rule: "answer.content_type",
    expected: "application/json",
    fault({ status, headers }) {
      if (status !== 200) return "not about it";
      const type = headers["content-type"] ?? "";
      const isJson = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type.trim());
      return isJson ? null : `content type '${type.slice(0, 80)}'`;
    },
  },
  {
    rule: "answer.well_formed",
    expected: "JSON as the protocol has it",
    fault({ status, body, json }) {
      if (status !== 200 && json === undefined) return "not about it";
      const read = readBody(body);
      return read.ok ? null : read.error.message;
    },
  },
  {
    rule: "answer.exact",
    expected: "numbers and texts that every reader keeps as they are",
    fault({ body }) {
      const read = readBody(body);
      return read.ok ? read.value.unfit[0]?.message ?? null : "not about it";
    },
  },
  {
    rule: "answer.limit",
    expected: `at most ${MOST_BYTES} bytes`,
    fault: ({ body }) => body.length <= MOST_BYTES ? null : `${body.length} bytes`,
  },
  {
    rule: "answer.error_body",
    expected: "an error with code and message",
    fault({ status, json }) {
      if (status < 400) return "not about it";
      const error = isJsonObject(json) ? json["error"] : undefined;
      if (!isJsonObject(error)) return `${status} without one`;
      const { code, message } = error;
      if (typeof code !== "string" || !/^[a-z][a-z0-9_]*$/.test(code)) {
        return `${status} whose code is no snake_case`;
      }
      return typeof message === "string" ? null : `${status} ${code} without a message`;
    },
  },
  {
    rule: "answer.retry_after",
    expected: "Retry-After in seconds or as an HTTP date",
    fault({ status, headers }, kit) {
      if (status !== 429) return "not about it";
      return retryAfterMs(headers, kit.portalNow()) === null ? "none that can be read" : null;
    },
  },
  {
    rule: "sealing.in_clear",
    expected: "no secret in it",
    fault: (answer, kit) => isLeaking(answer, kit.secrets) ? "a secret, not shown here" : null,
  },
];

/** Judges every answer that came by the rules that hold for all of them. */
export function judgeAll(kit: Kit): void {
  for (const exchange of kit.wire.exchanges) {
    if (exchange.answer === null) continue;
    for (const { rule, expected, fault } of OBSERVED) {
      const found = fault(exchange.answer, kit);
      if (found === "not about it") continue;
      if (found === null) kit.book.pass(rule);
      else kit.book.fail(rule, findingOf(exchange, expected, found));
    }
  }
}

function isLeaking({ headers, body, json }: Answer, secrets: ReadonlySet<string>): boolean {
  const texts = [new TextDecoder().decode(body), ...Object.values(headers)];
  // A manifest travels as base64 of JSON.
  const payload = isJsonObject(json) ? json["payload"] : undefined;
  const inside = typeof payload === "string" ? decodeBase64(payload) : null;
  if (inside !== null) texts.push(new TextDecoder().decode(inside));
  return [...secrets].filter((secret) => secret.length >= SHORTEST_SECRET).some((secret) => {
    const quoted = JSON.stringify(secret).slice(1, -1);
    const base64 = encodeBase64(new TextEncoder().encode(secret)).replace(/=+$/, "");
    return texts.some((text) =>
      text.includes(secret) || text.includes(quoted) || text.includes(base64)
    );
  });
}
