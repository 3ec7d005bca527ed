import type { HttpAnswer, HttpError } from "../ports/http.ts";
import { isOfPortal, type Meaning, meaningOf } from "../protocol/answer.ts";
import { namedSigner, type RequestProof, verifyAnswer } from "../protocol/answer_signature.ts";
import type { Result } from "../result.ts";
import type { Context } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition } from "./context.ts";

/** Longest wait that an unproven 429 gets, milliseconds: as long as the backoff's longest step (trust.md T2). */
const UNPROVEN_WAIT_MS = 300_000;

/** The headers that ask for an answer whose bytes are what was signed; none without `portal_keys`. */
export function plainAnswer({ config }: Context): Readonly<Record<string, string>> {
  return config.trust.portalKeys.length === 0 ? {} : { "Accept-Encoding": "identity" };
}

/**
 * Raises or clears what an answer to a signed request says about the way to the portal; null where that is
 * nothing new. `channel`: what the request is one of; the condition goes when each channel that had an
 * unproven answer has a proven one.
 */
export function noteAnswer(
  context: Context,
  channel: string,
  { meaning, proof }: JudgedAnswer,
): Promise<void> | null {
  const { store, requests } = context;
  const isGood = proof.kind !== "unproven" && !isNotThePortal(meaning);
  const isNoted = requests.unproven.size > 0 ||
    store.state.conditions.some(({ code }) => NOTED.includes(code));
  return isGood && !isNoted ? null : note(context, channel, { meaning, proof });
}

const NOTED: readonly string[] = ["answer_unproven", "not_the_portal"];

async function note(
  context: Context,
  channel: string,
  { meaning, proof }: JudgedAnswer,
): Promise<void> {
  const { unproven } = context.requests;
  if (proof.kind === "unproven") {
    unproven.add(channel);
    await raiseCondition(
      context,
      "answer_unproven",
      `no key in portal_keys proves the answers to: ${
        [...unproven].sort().join(", ")
      }; the last one: ` +
        proof.why,
    );
  } else if (proof.kind === "proven") {
    unproven.delete(channel);
    if (unproven.size === 0) await clearConditions(context, "answer_unproven");
  } else if (context.config.trust.portalKeys.length === 0) {
    // The keys were taken out of config.yaml.
    await clearConditions(context, "answer_unproven");
  }
  if (isNotThePortal(meaning)) {
    await raiseCondition(context, "not_the_portal", meaning.message);
  } else if (proof.kind === "proven" || proof.kind === "not_needed" && isOfPortal(meaning)) {
    await clearConditions(context, "not_the_portal");
  }
}

/** Whether an answer is proven. `not_needed`: there are no keys, no answer came, or it is a 5xx. */
export type Proof =
  | { readonly kind: "proven" | "not_needed" }
  | { readonly kind: "unproven"; readonly why: string };

/** What an answer means, and how far it is proven. */
export interface JudgedAnswer {
  readonly meaning: Meaning;
  readonly proof: Proof;
}

/**
 * What an answer means (trust.md T2). Nothing of an unproven one is used: not its time, not its refusal;
 * the wait of a 429 for a while, because a proxy in between may limit how often it is asked. Judged at once
 * where there is nothing to prove: what is due beside this must not overtake a refusal.
 */
export function judgeAnswer(
  context: Context,
  reply: Result<HttpAnswer, HttpError>,
  request: RequestProof,
): JudgedAnswer | Promise<JudgedAnswer> {
  const { portalKeys } = context.config.trust;
  const meaning = meaningOf(reply, correctedNow(context));
  if (portalKeys.length === 0 || !reply.ok || reply.value.status >= 500) {
    return { meaning, proof: { kind: "not_needed" } };
  }
  const { headers } = reply.value;
  return proofOf(context, reply.value, request)
    .then((proof) => asFarAsProven(signed(meaning, headers), proof));
}

function asFarAsProven(meaning: Meaning, proof: Proof): JudgedAnswer {
  if (proof.kind !== "unproven") return { meaning, proof };
  if (meaning.kind === "wait") {
    return { meaning: { kind: "wait", ms: Math.min(meaning.ms, UNPROVEN_WAIT_MS) }, proof };
  }
  if (isNotThePortal(meaning)) return { meaning, proof };
  const message = `no key in portal_keys proves the answer: ${proof.why}`;
  return { meaning: { kind: "trouble", code: "answer_unproven", message }, proof };
}

/** An answer that orders something says by which key; that counts only where the answer is proven. */
function signed(meaning: Meaning, headers: HttpAnswer["headers"]): Meaning {
  const signer = namedSigner(headers);
  const isOrder = meaning.kind === "success" || meaning.kind === "unauthorized";
  return isOrder && signer !== null ? { ...meaning, signer } : meaning;
}

async function proofOf(
  { config, verify, contentDigest }: Context,
  { status, headers, body }: HttpAnswer,
  request: RequestProof,
): Promise<Proof> {
  const verified = await verifyAnswer(
    { status, body, request },
    headers,
    config.trust.portalKeys,
    {
      ...(verify === undefined ? {} : { verify }),
      ...(contentDigest === undefined ? {} : { contentDigest }),
    },
  );
  return verified.ok ? { kind: "proven" } : { kind: "unproven", why: verified.error };
}

function isNotThePortal(meaning: Meaning): meaning is Extract<Meaning, { kind: "trouble" }> {
  return meaning.kind === "trouble" && meaning.code === "not_the_portal";
}
