import { type Rule, RULE_IDS, type RuleId, RULES } from "./rules.ts";

/** One look at a rule that did not come out as it should. */
export interface Finding {
  readonly sent: string;
  readonly came: string;
  readonly expected: string;
}

/** What became of one rule. */
export interface Verdict extends Rule {
  readonly id: RuleId;
  /** `skip`: it could not be tried; `reason` says why, `needs` how it can be. */
  readonly verdict: "pass" | "fail" | "skip";
  /** How often it was looked at. */
  readonly checks: number;
  readonly findings: readonly Finding[];
  /** Why it was skipped; for a rule that holds, what is worth knowing all the same. */
  readonly reason?: string;
}

/** Where the verdicts are written down, while they come. */
export interface Book {
  pass(rule: RuleId, note?: string): void;
  fail(rule: RuleId, finding: Finding): void;
  /** The rule could not be tried. The first reason is told. */
  skip(rule: RuleId, reason: string): void;
  /** Whether one look at it failed. */
  hasFailed(rule: RuleId): boolean;
  /** All rules in their order. One failed look fails a rule, whatever else was seen. */
  verdicts(): readonly Verdict[];
}

interface Entry {
  checks: number;
  findings: Finding[];
  skipped: string | null;
  note: string | null;
}

const MOST_FINDINGS = 5;

/** An empty book. */
export function createBook(): Book {
  const entries = new Map<RuleId, Entry>();

  function entry(rule: RuleId): Entry {
    const found = entries.get(rule) ?? { checks: 0, findings: [], skipped: null, note: null };
    entries.set(rule, found);
    return found;
  }

  return {
    pass(rule, note) {
      const found = entry(rule);
      found.checks++;
      found.note ??= note ?? null;
    },
    fail(rule, finding) {
      const found = entry(rule);
      found.checks++;
      if (found.findings.length < MOST_FINDINGS) found.findings.push(finding);
    },
    skip(rule, reason) {
      entry(rule).skipped ??= reason;
    },
    hasFailed: (rule) => (entries.get(rule)?.findings.length ?? 0) > 0,
    verdicts: () => RULE_IDS.map((id) => verdictOf(id, entries.get(id))),
  };
}

function verdictOf(id: RuleId, entry: Entry | undefined): Verdict {
  const { checks, findings, skipped, note } = entry ??
    { checks: 0, findings: [], skipped: null, note: null };
  const rule: Omit<Verdict, "verdict"> = { id, ...RULES[id], checks, findings };
  if (findings.length > 0) return { ...rule, verdict: "fail" };
  if (checks === 0) {
    const reason = skipped ?? (rule.needs === undefined ? "nothing came up that it is about" : "");
    return { ...rule, verdict: "skip", ...(reason === "" ? {} : { reason }) };
  }
  return { ...rule, verdict: "pass", ...(note === null ? {} : { reason: note }) };
}
