import { fail, ok, type Result } from "../../core/result.ts";
import type { Verdict } from "./book.ts";
import { walkBodies } from "./bodies.ts";
import { walkClock, walkReplay } from "./clock_and_replay.ts";
import { walkEnrollment } from "./enrollment.ts";
import { createKit, type Kit, type Player } from "./kit.ts";
import { walkManifests } from "./manifests.ts";
import { judgeAll } from "./observed.ts";
import { walkOperations } from "./operations.ts";
import type { ConformanceOptions } from "./options.ts";
import { judgeProofs } from "./proofs.ts";
import { walkOwner } from "./owner.ts";
import { walkRotation } from "./rotation.ts";
import { walkSignatures } from "./signatures.ts";
import { walkSyncing } from "./syncing.ts";

/** What a walk through a portal showed. */
export interface Conformance {
  readonly kind: "pbx-conformance-report";
  readonly format: 1;
  /** The protocol's base. */
  readonly portal: string;
  /** RFC 3339, by this machine's clock. */
  readonly started_at: string;
  readonly duration_ms: number;
  readonly requests: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly rules: readonly Verdict[];
}

/** The walk, part by part; later parts use what earlier ones found. */
const PARTS: readonly { readonly name: string; walk(kit: Kit, main: Player): Promise<void> }[] = [
  { name: "reports and the desired state", walk: walkSyncing },
  { name: "release manifests", walk: walkManifests },
  { name: "signatures", walk: walkSignatures },
  { name: "clocks", walk: walkClock },
  { name: "replays", walk: walkReplay },
  { name: "bodies", walk: walkBodies },
  { name: "operations", walk: walkOperations },
  { name: "a rotation of keys", walk: walkRotation },
  { name: "limits and revocation", walk: walkOwner },
];

/**
 * Walks a portal through the protocol as an agent would, and as one that breaks it, and judges every rule
 * that the protocol puts on a portal. It enrolls two agents, which stay enrolled; no operation is carried
 * out. Trouble on the way is a finding; only a portal that never answers is a failure, told in words.
 */
export async function runConformance(
  options: ConformanceOptions,
): Promise<Result<Conformance, string>> {
  const { clock, hands } = options;
  const begunAt = clock.now();
  const begun = clock.monotonic();
  const tokens = [...options.tokens, ...(await hands?.tokens() ?? [])];
  const kit = createKit({ ...options, tokens });
  options.progress?.("enrollment");
  await walkEnrollment(kit);
  const [first] = kit.wire.exchanges;
  if (kit.wire.exchanges.every(({ answer }) => answer === null)) {
    return fail(`${options.base} does not answer (${first?.failure ?? "nothing was sent"})`);
  }
  if (kit.main !== null) {
    for (const { name, walk } of PARTS) {
      if (kit.wire.hasStopped()) break;
      options.progress?.(name);
      await walk(kit, kit.main);
    }
  }
  judgeAll(kit);
  await judgeProofs(kit);
  const rules = kit.book.verdicts().map((verdict) => tellWhy(kit, verdict));
  const count = (kind: Verdict["verdict"]) => rules.filter((rule) => rule.verdict === kind).length;
  return ok({
    kind: "pbx-conformance-report",
    format: 1,
    portal: options.base,
    started_at: new Date(begunAt).toISOString(),
    duration_ms: Math.round(clock.monotonic() - begun),
    requests: kit.wire.exchanges.length,
    passed: count("pass"),
    failed: count("fail"),
    skipped: count("skip"),
    rules,
  });
}

/** Without an agent nearly nothing can be tried: that is said. No finding ever shows a secret. */
function tellWhy(kit: Kit, verdict: Verdict): Verdict {
  const hidden = (text: string) =>
    [...kit.secrets].filter((secret) => secret.length >= 4)
      .reduce((safe, secret) => safe.replaceAll(secret, "[secret]"), text);
  const findings = verdict.findings.map(({ sent, came, expected }) => ({
    sent: hidden(sent),
    came: hidden(came),
    expected: hidden(expected),
  }));
  const why = kit.wire.hasStopped()
    ? "the portal no longer answers"
    : kit.main !== null
    ? null
    : kit.options.tokens.length === 0
    ? "no token was given"
    : "no agent could be enrolled";
  if (verdict.verdict !== "skip" || why === null) return { ...verdict, findings };
  return { ...verdict, findings, reason: why };
}
