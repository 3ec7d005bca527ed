import { isJsonObject } from "../json.ts";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Meaning } from "../protocol/answer.ts";
import { contentDigest } from "../protocol/answer_signature.ts";
import { backoffMs } from "../protocol/backoff.ts";
import { encodeBase64 } from "../protocol/base64.ts";
import { EnrollAnswer, type EnrollRequest } from "../protocol/enroll.ts";
import { enrollReactionTo } from "../protocol/enroll_reaction.ts";
import { describeIssue } from "../protocol/schema_error.ts";
import { MAX_REFUSALS } from "../protocol/reaction.ts";
import { PUBLIC_KEYS_IN_SCRIPT } from "../protocol/public_keys.ts";
import type { KnownBoxes } from "../protocol/bound_box.ts";
import { bindBoxes, openInPlace, scanEnrollAnswer } from "../protocol/secret_positions.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { saveBootstrap } from "../state/bootstrap.ts";
import { withEntry } from "../state/history.ts";
import { type Identity, saveIdentity } from "../state/identity.ts";
import type { Context } from "./context.ts";
import { byPortal, entryOf } from "./history_entry.ts";
import { sealingKeysOf } from "./identity_holder.ts";
import { CONNECT_MS, MAX_BODY, TOTAL_MS } from "./exchange.ts";
import { judgeAnswer, plainAnswer } from "./read_answer.ts";
import { sealerTo } from "./rotation.ts";
import { requiresBound } from "./trust.ts";
import { clearTrouble, noteTrouble } from "./trouble.ts";

/** How enrolling ended: with an ID, without hope, or because the program ends. */
export type Enrollment =
  | { readonly kind: "enrolled"; readonly identity: Identity }
  | { readonly kind: "refused" }
  | { readonly kind: "aborted" };

/**
 * Enrolls (protocol §3; operations.md, First start, steps 2 to 4): asks until the portal answers with an
 * identity or nothing is left to try. What was asked is the same every time, so an answer that was lost
 * is simply asked for again.
 */
export async function enroll(context: Context, identity: Identity): Promise<Enrollment> {
  const token = context.config.enrollmentToken;
  if (token === undefined) {
    await noteTrouble(
      context,
      "no_token",
      "config.yaml has no enrollment_token and this node is not enrolled: the way out is a new " +
        "server with a new token",
    );
    return { kind: "refused" };
  }
  const tokenHash = hashOfToken(token);
  if (refusalsOf(context, tokenHash) >= MAX_REFUSALS) return { kind: "refused" };

  const serverId = await readServerId(context);
  if (serverId === null) return { kind: "aborted" };
  const request = await enrollRequest(context, identity, token, serverId);

  let requestRefused = 0;
  /** The portal's answer that the disk did not take: the token is used, and may expire before it is asked again. */
  let owed: Meaning | null = null;
  while (true) {
    if (!await pause(context, context.channels.waitMs("sync"))) return { kind: "aborted" };
    const meaning: Meaning | null = owed ?? await ask(context, request);
    if (meaning === null) return { kind: "aborted" };
    const { reaction, refused } = await reactTo(context, meaning, tokenHash, requestRefused);
    requestRefused = refused;
    switch (reaction.do) {
      case "store": {
        if (meaning.kind !== "success") throw new Error("stored what is no success");
        const stored = await storeAnswer(context, identity, request, meaning);
        if (stored.ok) return { kind: "enrolled", identity: stored.value };
        owed = NOT_STORED.includes(stored.error.code) ? meaning : null;
        await context.channels.failed("sync");
        await noteTrouble(context, stored.error.code, stored.error.message);
        break;
      }
      case "back_off":
        await context.channels.failed("sync");
        await noteTrouble(context, reaction.code, `the enrollment failed: ${reaction.message}`);
        break;
      case "wait":
        await context.channels.asked("sync", reaction.ms);
        await noteTrouble(
          context,
          "too_many_requests",
          `the portal asks to wait ${Math.round(reaction.ms / 1000)} s`,
        );
        break;
      case "idle":
        await noteTrouble(context, reaction.code, `not enrolled: ${reaction.message}`);
        return { kind: "refused" };
    }
  }
}

/** How an answer ends that is good, and that the disk did not take. */
const NOT_STORED = ["bootstrap_not_stored", "identity_not_stored"];

/** By which hash the tries of a token are counted. */
export function hashOfToken(token: Secret): string {
  return bytesToHex(sha256(utf8ToBytes(token.reveal())));
}

/**
 * What to do about an answer, with the refusals of the token noted. `refused`: how often the request was
 * refused in a row, before this answer and with it.
 */
export async function reactTo(
  context: Context,
  meaning: Meaning,
  tokenHash: string,
  refused: number,
): Promise<
  { readonly reaction: ReturnType<typeof enrollReactionTo>["reaction"]; readonly refused: number }
> {
  const { reaction, memory } = enrollReactionTo(meaning, {
    tokenRefused: refusalsOf(context, tokenHash),
    requestRefused: refused,
  });
  await noteRefusals(context, tokenHash, memory.tokenRefused);
  return { reaction, refused: memory.requestRefused };
}

async function noteRefusals(
  context: Context,
  tokenHash: string,
  refused: number,
): Promise<void> {
  if (refused === refusalsOf(context, tokenHash)) return;
  await context.store.keep((state) => ({
    ...state,
    enrollment: { token_sha256: tokenHash, refused },
  }));
}

/** How often the portal refused the token whose hash this is. */
export function refusalsOf({ store }: Pick<Context, "store">, tokenHash: string): number {
  const { enrollment } = store.state;
  return enrollment?.token_sha256 === tokenHash ? enrollment.refused : 0;
}

/** The server's ID; null when the program ends. Early in a boot there is no network yet: asks on. */
async function readServerId(context: Context): Promise<string | null> {
  const { metadata, random } = context.ports;
  for (let failures = 1;; failures++) {
    const id = await metadata.instanceId();
    if (id.ok) return id.value;
    await noteTrouble(
      context,
      "no_server_id",
      `the metadata service gave no server ID: ${id.error.message}`,
    );
    if (!await pause(context, backoffMs(failures, random.fraction()))) return null;
  }
}

/** What the portal is asked with. */
export async function enrollRequest(
  context: Context,
  { keys }: Identity,
  token: Secret,
  serverId: string,
): Promise<EnrollRequest> {
  const { config, program, ports, publicKeys = PUBLIC_KEYS_IN_SCRIPT } = context;
  const booted = await ports.boot.booted();
  return {
    protocol: 1,
    token: token.reveal(),
    cluster_id: config.clusterId,
    node_name: config.nodeName,
    server_id: serverId,
    public_keys: {
      signing: encodeBase64(publicKeys.signing(keys.signing)),
      sealing: encodeBase64(publicKeys.sealing(keys.sealing)),
    },
    boot_image_sha256: booted.sha256,
    agent_version: program.version,
    arch: program.arch,
  };
}

/** What ties the answer to one request, where the answer has to be proven (trust.md T2). */
const NONCE_BYTES = 16;

/** Sends the request; null when the program ends. */
export async function ask(context: Context, request: EnrollRequest): Promise<Meaning | null> {
  const body = utf8ToBytes(JSON.stringify(request));
  const isProven = context.config.trust.portalKeys.length > 0;
  const nonce = isProven ? encodeBase64(context.ports.random.bytes(NONCE_BYTES)) : "";
  const digest = isProven ? await (context.contentDigest ?? contentDigest)(body) : "";
  const reply = await context.ports.http.request({
    method: "POST",
    url: `${context.config.portal}/enroll`,
    headers: {
      "PBX-Protocol": "1",
      "Content-Type": "application/json",
      ...(isProven ? { "PBX-Nonce": nonce, "Content-Digest": digest } : {}),
      ...plainAnswer(context),
    },
    body,
    totalMs: TOTAL_MS,
    connectMs: CONNECT_MS,
    maxBytes: MAX_BODY,
    signal: context.stop,
  });
  if (!reply.ok && reply.error.code === "aborted") return null;
  const { meaning } = await judgeAnswer(context, reply, { kind: "enroll", nonce, digest });
  if (!("message" in meaning)) return meaning;
  // A portal that quotes the token in its refusal must not bring it into the log and the state.
  return { ...meaning, message: meaning.message.replaceAll(request.token, "[secret]") };
}

/** An answer of 200. */
export type EnrollSuccess = Extract<Meaning, { kind: "success" }>;

/** Why an answer was not stored. */
export interface NotStored {
  readonly code: string;
  readonly message: string;
}

async function storeAnswer(
  context: Context,
  identity: Identity,
  request: EnrollRequest,
  answered: EnrollSuccess,
): Promise<Result<Identity, NotStored>> {
  const answer = judgeEnrollAnswer(context, identity, request, answered);
  if (!answer.ok) return answer;
  const { disk, log } = context.ports;
  const { portal } = context.config;
  // The answer first: an ID without it could never configure k3s, while the answer alone is an ID.
  const { unbound } = answer.value;
  const kept = await saveBootstrap(disk, {
    server_id: request.server_id,
    portal,
    answer: answer.value.answer,
    ...(Object.keys(unbound).length === 0 ? {} : { boxes: unbound }),
  });
  if (!kept.ok) return fail({ code: "bootstrap_not_stored", message: kept.error.message });
  const { agent_id, cluster_id, node_name, sealing } = answer.value.answer;
  const bound: Identity = {
    ...identity,
    stored_bound: true,
    ...(sealing === "bound" ? { bound_boxes: true as const } : {}),
    binding: { agent_id, cluster_id, node_name, server_id: request.server_id, portal },
  };
  const saved = await saveIdentity(disk, bound);
  if (!saved.ok) return fail({ code: "identity_not_stored", message: saved.error.message });
  const entry = entryOf(context, byPortal(answered.signer ?? null), {
    what: "enrolled",
    agent_id,
    cluster: cluster_id,
    node: node_name,
    server: request.server_id,
    portal,
  });
  await context.store.keep((state) => withEntry(state, entry));
  await context.channels.succeeded("sync");
  await clearTrouble(context);
  log.write(
    "info",
    "enrolled",
    `enrolled as ${agent_id}: node ${node_name} of cluster ${cluster_id}`,
    {
      agent_id,
    },
  );
  return ok(bound);
}

/** An answer that counts: its boxes bound to their positions, and those that came unbound. */
export interface JudgedAnswer {
  readonly answer: EnrollAnswer;
  readonly unbound: KnownBoxes;
}

/** Judges an answer to the enrollment: secrets first, then its form, then whom it is for. */
export function judgeEnrollAnswer(
  context: Context,
  identity: Identity,
  request: EnrollRequest,
  { body, unfit: [unfit] }: EnrollSuccess,
  knownBoxes: KnownBoxes = context.store.state.desired?.boxes ?? {},
): Result<JudgedAnswer, NotStored> {
  const boxes = scanEnrollAnswer(body);
  if (!boxes.ok) return boxes;
  const keys = sealingKeysOf(identity, context);
  const unbound = openInPlace(boxes.value, keys, {
    isBoundRequired: requiresBound(context.config.trust, identity) ||
      isJsonObject(body) && body["sealing"] === "bound",
    known: knownBoxes,
  });
  if (!unbound.ok) return unbound;
  if (unfit !== undefined) return fail({ code: "malformed_answer", message: unfit.message });
  const bound = Object.keys(unbound.value).length === 0
    ? body
    : bindBoxes(body, boxes.value, keys, sealerTo(context, identity.keys));
  const answer = EnrollAnswer.safeParse(bound);
  if (!answer.success) {
    return fail({ code: "malformed_answer", message: describeIssue(answer.error) });
  }
  const known = identity.binding?.agent_id;
  if (known !== undefined && answer.data.agent_id !== known) {
    return fail({
      code: "malformed_answer",
      message: `the answer is for agent '${answer.data.agent_id}', and this one is '${known}'`,
    });
  }
  for (const name of ["cluster_id", "node_name"] as const) {
    if (answer.data[name] !== request[name]) {
      return fail({
        code: "malformed_answer",
        message: `the answer is for ${name} '${answer.data[name]}', not '${request[name]}'`,
      });
    }
  }
  return ok({ answer: answer.data, unbound: unbound.value });
}

/** Waits; false when the program ends meanwhile. */
async function pause({ ports, stop }: Context, ms: number): Promise<boolean> {
  if (ms > 0) await ports.clock.sleep(ms, stop);
  return !stop.aborted;
}
