import { contentDigest, verifyAnswer } from "../../core/protocol/answer_signature.ts";
import { findingOf, type Kit } from "./kit.ts";
import type { RuleId } from "./rules.ts";
import type { Answer, Exchange } from "./wire.ts";

/** The rules about signed answers, and what each of them expects. */
const EXPECTED = {
  "proof.plain": "no Content-Encoding, as Accept-Encoding: identity asks",
  "proof.signed": "Content-Digest, Signature-Input and Signature",
  "proof.digest": "a Content-Digest of the body, as it was sent",
  "proof.replayed": "a signature that no answer before had",
  "proof.components": "the components of this endpoint, all of them and no other",
  "proof.parameters": 'one signature pbx, with created, keyid and alg="ed25519" in this order',
  "proof.request": "a signature by the portal's key over this answer to this request",
} as const satisfies Partial<Readonly<Record<RuleId, string>>>;
type ProofRule = keyof typeof EXPECTED;
const PROOF_RULES = Object.keys(EXPECTED) as ProofRule[];

const COMPONENTS = {
  signed: '("@status" "content-digest" "pbx-signature";req)',
  enroll: '("@status" "content-digest" "pbx-nonce";req "content-digest";req)',
} as const;
const PARAMETERS = /^;created=[0-9]{1,15};keyid="[0-9a-f]{16}";alg="ed25519"$/;

/** Judges the proof of every answer that must have one; without the portal's key none is judged. */
export async function judgeProofs(kit: Kit): Promise<void> {
  if (kit.options.portalKeys.length === 0) return;
  const seen = new Set<string>();
  for (const exchange of kit.wire.exchanges) {
    const { answer } = exchange;
    if (answer === null || answer.status >= 500 || exchange.request === null) continue;
    const found = await faultOf(answer, exchange.request, { kit, seen });
    for (const rule of PROOF_RULES) if (rule !== found?.rule) kit.book.pass(rule);
    if (found !== null) {
      kit.book.fail(found.rule, findingOf(exchange, EXPECTED[found.rule], found.came));
    }
    seen.add(answer.headers["signature"] ?? "");
  }
}

async function faultOf(
  { status, headers, body }: Answer,
  request: NonNullable<Exchange["request"]>,
  { kit, seen }: { readonly kit: Kit; readonly seen: ReadonlySet<string> },
): Promise<{ readonly rule: ProofRule; readonly came: string } | null> {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined) return { rule: "proof.plain", came: `${status} as ${encoding}` };
  const missing = ["content-digest", "signature-input", "signature"]
    .filter((name) => headers[name] === undefined);
  if (missing.length > 0) {
    return { rule: "proof.signed", came: `${status} without ${missing.join(", ")}` };
  }
  if (headers["content-digest"] !== contentDigest(body)) {
    return { rule: "proof.digest", came: `${status} with ${headers["content-digest"]}` };
  }
  const input = headers["signature-input"] ?? "";
  const components = COMPONENTS[request.kind];
  const came = `${status} with ${input.slice(0, 300)}`;
  const found = /^pbx=(\([^)]*\))/.exec(input)?.[1];
  if (found !== undefined && found !== components) return { rule: "proof.components", came };
  if (!PARAMETERS.test(input.slice(`pbx=${components}`.length))) {
    return { rule: "proof.parameters", came };
  }
  if (seen.has(headers["signature"] ?? "")) {
    return { rule: "proof.replayed", came: `${status} with the signature of an answer before` };
  }
  const proven = await verifyAnswer({ status, body, request }, headers, kit.options.portalKeys);
  return proven.ok ? null : { rule: "proof.request", came: `${status}: ${proven.error}` };
}
