import type { OptionDeclaration } from "../../../core/protocol/release.ts";
import {
  compilePattern,
  type Pattern,
  type PatternState,
} from "../../../core/protocol/pattern/pattern.ts";

/** Words that say it of an option wherever they stand in its name, and those that do at its end. */
const ANYWHERE = /(?:^|_)(?:ur[il]s?|endpoints?|hostnames?|fqdns?|dsns?|webhooks?)(?:_|$)/;
const LAST_WORD =
  /(?:^|_)(?:servers?|address(?:es)?|addrs?|prox(?:y|ies)|registr(?:y|ies)|repositor(?:y|ies)|repos?|mirrors?|upstreams?|brokers?|gateways?|relays?|targets?|destinations?|domains?|origins?|issuers?|callbacks?|ips?|hosts?)$/;
/** `baseurl`, `smtphost`; neither `curl` nor `ghost`. */
const LAST_LETTERS = /(?:(?<!c)url|uri|(?<!g)host|hostname|endpoint)s?$/;

/** What a destination looks like: a URL, a host with a dot in its name, an IP address. */
const FORMS = [
  "^[A-Za-z][A-Za-z0-9+.-]*://.+$",
  "^(?:[A-Za-z0-9_-]+\\.)+[A-Za-z]{2,}\\.?(?::[0-9]+)?(?:/.*)?$",
  "^[0-9]+(?:\\.[0-9]+){3}(?::[0-9]+)?(?:/.*)?$",
  "^\\[?[0-9A-Fa-f:]*::[0-9A-Fa-f:.]*(?:\\].*)?$",
];

/** The shortest of them, in characters. */
const SHORTEST = 2;

/** Whether an option's name says that it is a URL or a host. */
export function isNamedDestination(name: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
  return [ANYWHERE, LAST_WORD, LAST_LETTERS].some((form) => form.test(words));
}

/** Whether the limits of an option let a URL, a host with a dot in its name or an IP address through. */
export function letsDestinationThrough(
  { type, pattern, maxLength, minimum, maximum }: OptionDeclaration,
): boolean {
  const isNumbers = type === "number" || minimum !== undefined || maximum !== undefined;
  if (isNumbers || type === "boolean") return false;
  if (maxLength !== undefined && maxLength < SHORTEST) return false;
  if (pattern === undefined) return true;
  const own = compilePattern(pattern);
  return !own.ok || FORMS.some((form) => {
    const other = compilePattern(form);
    return other.ok && haveCommonText(own.value, other.value);
  });
}

/** The characters that destinations are made of. */
const CHARACTERS = Array.from({ length: 0x7f - 0x20 }, (_, at) => String.fromCharCode(0x20 + at));

/**
 * Whether a text of printable ASCII is matched by both. Assertions are taken to hold: what an inner one
 * forbids counts as allowed, which is the safe side here.
 */
export function haveCommonText(one: Pattern, other: Pattern): boolean {
  const seen = new Set<number>();
  const waiting: (readonly [number, number])[] = [[one.start, other.start]];
  const overlap = overlapOf();
  for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
    const [at, otherAt] = pair;
    const key = at * other.states.length + otherAt;
    if (seen.has(key)) continue;
    seen.add(key);
    const [state, otherState] = [one.states[at], other.states[otherAt]];
    if (state === undefined || otherState === undefined) continue;
    if (state.kind !== "character" && state.kind !== "end") {
      for (const next of behind(state)) waiting.push([next, otherAt]);
    } else if (otherState.kind !== "character" && otherState.kind !== "end") {
      for (const next of behind(otherState)) waiting.push([at, next]);
    } else if (state.kind === "end" || otherState.kind === "end") {
      if (state.kind === otherState.kind) return true;
    } else if (overlap(state.accepts, otherState.accepts)) {
      waiting.push([state.next, otherState.next]);
    }
  }
  return false;
}

function behind(state: PatternState & { kind: "assertion" | "split" }): readonly number[] {
  return state.kind === "split" ? state.next : [state.next];
}

type Accepts = (character: string) => boolean;

/** Whether two sets of characters have one in common; each pair is looked at once. */
function overlapOf(): (one: Accepts, other: Accepts) => boolean {
  const known = new Map<Accepts, Map<Accepts, boolean>>();
  return (one, other) => {
    const row = known.get(one) ?? new Map<Accepts, boolean>();
    known.set(one, row);
    const before = row.get(other);
    if (before !== undefined) return before;
    const doOverlap = CHARACTERS.some((character) => one(character) && other(character));
    row.set(other, doOverlap);
    return doOverlap;
  };
}
