import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { ConditionCode } from "../protocol/conditions.ts";
import { isAgeRefusal } from "../protocol/release_age.ts";
import type { EnrollAnswer, FirstStartManifest } from "../protocol/enroll.ts";
import { type FirstConfigRefusal, judgeFirstConfig } from "../protocol/first_config.ts";
import type { Release } from "../protocol/release.ts";
import { openSealed } from "../protocol/sealing.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";
import { openEnrollAgain } from "./enroll_again.ts";
import { readBootstrap } from "./read_bootstrap.ts";
import { judgeRelease } from "./release_guard.ts";
import type { Releases } from "./releases.ts";

/** What k3s is configured with: an answer to the enrollment that passed. */
export interface FirstConfig {
  readonly config: EnrollAnswer["k3s"]["config"];
  readonly token: Secret;
  readonly agentToken: Secret | undefined;
  /** Those that k3s gets; none where this program cannot verify any. */
  readonly manifests: readonly FirstStartManifest[];
}

/** Judges the stored answer to the enrollment, and asks for another one while it is refused. */
export interface FirstConfigs {
  /** What k3s may be configured with, or what it waits for. */
  get(context: BoundContext): Promise<Result<FirstConfig, string>>;
}

/**
 * Why an answer is not carried out. `waits`: that may pass by itself; without a code another answer does not
 * help.
 */
type Held =
  | { readonly kind: "waits"; readonly code: ConditionCode | null; readonly message: string }
  | { readonly kind: "refused"; readonly code: ConditionCode; readonly message: string };

/** The conditions that an answer to the enrollment is refused with. */
const REFUSALS: readonly FirstConfigRefusal["code"][] = [
  "k3s_config_refused",
  "unsigned_manifest",
  "pin_mismatch",
];

/** Judges with the manifests that `releases` has. */
export function openFirstConfigs(releases: Releases): FirstConfigs {
  const again = openEnrollAgain();
  /** What holds up the stored answer that another one may mend; null while it was not judged yet. */
  let hold: Held | null = null;
  let isFirst = true;

  return {
    async get(context) {
      if (hold !== null) {
        const asked = await again.ask(context);
        // A manifest may come without another answer.
        if (asked.kind !== "stored" && hold.kind === "refused") {
          return fail(`${hold.message}; ${asked.why}`);
        }
        if (asked.kind === "stored") hold = null;
      }
      const judged = await judgeStored(context, releases);
      const wasHeldBefore = isFirst && context.store.state.channels.enrollment.failures > 0;
      isFirst = false;
      if (judged.ok) {
        await context.channels.succeeded("enrollment");
        return judged;
      }
      const { kind, code, message } = judged.error;
      if (kind === "refused") {
        await clearConditions(context, ...REFUSALS.filter((other) => other !== code));
      }
      if (code !== null) {
        // A start asks once at once, whatever held it up before.
        if (hold === null && !wasHeldBefore) await context.channels.failed("enrollment");
        hold = judged.error;
        await raiseCondition(context, code, message);
      }
      return fail(message);
    },
  };
}

async function judgeStored(
  context: BoundContext,
  releases: Releases,
): Promise<Result<FirstConfig, Held>> {
  const bootstrap = await readBootstrap(context);
  if (bootstrap === null) {
    return waits(
      "bootstrap.json is lost and k3s was never configured: this node needs a new server",
    );
  }
  const { answer } = bootstrap;
  const { k3s, manifests } = answer;
  const keys = context.identity.sealingKeys;
  const token = openSealed(k3s.token.sealed, keys);
  if (!token.ok) return waits(`k3s.token: ${token.error.message}`);
  const agentToken = k3s.agent_token === undefined
    ? undefined
    : openSealed(k3s.agent_token.sealed, keys);
  if (agentToken !== undefined && !agentToken.ok) {
    return waits(`k3s.agent_token: ${agentToken.error.message}`);
  }
  const release = await releaseOf(context, releases, answer.release);
  if (!release.ok) return release;

  const { trust } = context.config;
  const refusal = judgeFirstConfig(answer, {
    nodeName: context.binding.node_name,
    join: trust.join,
    isJoinPinned: trust.approvalKeys.length > 0 || trust.portalKeys.length > 0,
    release: release.value,
    k3sTokenSha256: trust.k3sTokenSha256,
    token: token.value.reveal(),
  });
  if (refusal !== null) return fail({ kind: "refused", ...refusal });
  const { server } = k3s.config;
  if (server !== undefined) {
    const pinned = await judgeAuthority(context, String(server));
    if (!pinned.ok) return pinned;
  }

  const { value: verified } = release;
  const isLeftOut = verified === null && manifests.length > 0;
  await clearConditions(
    context,
    ...REFUSALS.filter((code) => code !== "unsigned_manifest" || !isLeftOut),
  );
  if (isLeftOut) {
    const names = manifests.map(({ name }) => name).join(", ");
    await raiseCondition(
      context,
      "unsigned_manifest",
      `this program was built without release keys, so k3s starts without the first-start ` +
        `manifests of the enrollment: ${names}`,
    );
  }
  return ok({
    config: k3s.config,
    token: token.value,
    agentToken: agentToken?.value,
    manifests: verified === null ? [] : manifests,
  });
}

/** The verified manifest of the answer's release; null where this program has no keys to verify one. */
async function releaseOf(
  context: BoundContext,
  releases: Releases,
  version: string,
): Promise<Result<Release | null, Held>> {
  if (context.program.releaseKeys.length === 0) return ok(null);
  const found = await releases.get(context, version);
  if (!found.ok) {
    const { code, message } = found.error;
    const isEnd = code === "stop" || code === "aborted";
    return fail({ kind: "waits", code: isEnd ? null : code, message });
  }
  const age = await judgeRelease(context, releases, found.value, false);
  if (age.kind === "refused") {
    return fail({ kind: "refused", code: age.code, message: age.message });
  }
  await clearOwn(context, version, age.older !== null);
  if (age.older !== null) await raiseCondition(context, "release_older", age.older);
  return found;
}

/** Clears what held up the answer's release; a fault of the desired state's own one stays. */
async function clearOwn(context: BoundContext, version: string, isOlder: boolean): Promise<void> {
  const own = context.store.state.conditions.filter(({ code, message }) =>
    (code === "manifest_rejected" || code === "manifest_unavailable" || isAgeRefusal(code)) &&
    !(isOlder && code === "release_older") &&
    [":", " "].some((end) => message.startsWith(`release ${version}${end}`))
  );
  await clearConditions(context, ...own.map(({ code }) => code as ConditionCode));
}

/**
 * Whether the CA file that a k3s server serves is the pinned one. `url`: the server to join, or null for
 * this node's own.
 */
export async function judgeAuthority(
  context: BoundContext,
  url: string | null,
): Promise<Result<void, Held>> {
  const pinned = context.config.trust.clusterCaSha256;
  if (pinned === null) return ok(undefined);
  const served = await context.ports.servers.authority(url);
  if (!served.ok) return waits(`cluster_ca_sha256: ${served.error.message}`);
  const hash = bytesToHex(sha256(served.value));
  if (hash === pinned) return ok(undefined);
  const server = url ?? "this node's own k3s";
  const message = `the CA file at /cacerts of ${server} has SHA-256 ${hash}, not the ` +
    "cluster_ca_sha256 of config.yaml";
  return fail({ kind: "refused", code: "pin_mismatch", message });
}

function waits(message: string): Result<never, Held> {
  return fail({ kind: "waits", code: null, message });
}
