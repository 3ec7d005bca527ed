import type { Disk } from "../ports/disk.ts";
import { type VerifiedRelease, verifyRelease } from "../protocol/dsse.ts";
import type { Verify } from "../protocol/signing.ts";
import { fail, ok, type Result } from "../result.ts";
import { readDocument, writeDocument } from "../state/durable.ts";
import { RELEASE_FILE } from "../state/paths.ts";
import type { BoundContext } from "./context.ts";
import { exchange } from "./exchange.ts";
import { noteVerified } from "./release_memory.ts";

/** Why there is no verified manifest. `stop`: the portal refused the identity on the way. */
export interface NoRelease {
  readonly code: "manifest_rejected" | "manifest_unavailable" | "stop" | "aborted";
  readonly message: string;
}

/** Verified release manifests: the last ones used are kept in memory, the last one fetched on disk. */
export interface Releases {
  /** The verified manifest of `version`, fetched where it is not at hand. */
  get(context: BoundContext, version: string): Promise<Result<VerifiedRelease, NoRelease>>;
  /** The same where it is at hand, in memory or on the disk; the portal is not asked. */
  atHand(context: BoundContext, version: string): Promise<VerifiedRelease | null>;
}

/** Why the last release asked for is not at hand. */
interface Refusal {
  readonly version: string;
  readonly error: NoRelease;
}

/** Releases that are kept in memory. */
const HELD = 2;

/**
 * An empty cache; the file of an earlier run is verified again before it counts.
 *
 * @param keep `aside`: what is fetched does not take the place of the release in use on the disk
 */
export function openReleases(keep: "in_use" | "aside" = "in_use"): Releases {
  // The one in use, and one that is offered and perhaps never taken.
  let held: readonly VerifiedRelease[] = [];
  let refusal: Refusal | null = null;
  /** What the disk did not take: tried again for as long as the release is in use. */
  let owed: { readonly version: string; readonly bytes: Uint8Array } | null = null;

  async function save(context: BoundContext, version: string, bytes: Uint8Array): Promise<void> {
    if (keep === "aside") return;
    const kept = await writeDocument(context.ports.disk, RELEASE_FILE, bytes);
    owed = kept.ok ? null : { version, bytes };
    if (!kept.ok) context.ports.log.write("warn", "release_not_kept", kept.error.message);
  }

  function hold(release: VerifiedRelease): void {
    const others = held.filter(({ version }) => version !== release.version);
    held = [release, ...others].slice(0, HELD);
  }

  async function atHand({ ports, program, verify }: BoundContext, version: string) {
    return held.find((release) => release.version === version) ??
      await readRelease(ports.disk, version, program.releaseKeys, verify);
  }

  return {
    atHand,
    async get(context, version) {
      const found = await atHand(context, version);
      if (found !== null) {
        hold(found);
        if (owed?.version === version) await save(context, version, owed.bytes);
        return ok(found);
      }
      if (context.channels.waitMs("manifests") > 0) {
        refusal ??= refusalBefore(context);
        if (refusal === null) return unavailable(version, "waiting after earlier trouble");
        if (refusal.version === version) return fail(refusal.error);
        // A release that was refused says nothing about another one; trouble on the way does.
        // But a wait that the portal asked for holds for all of them.
        const isAsked = context.store.state.channels.manifests.retry_after_until !== null;
        const isOwn = refusal.error.code === "manifest_rejected" ||
          version === context.requests.demanded();
        if (isAsked || !isOwn) return unavailable(version, refusal.error.message);
      }
      const fetched = await fromPortal(context, version);
      refusal = fetched.ok ? null : { version, error: fetched.error };
      if (!fetched.ok) return fetched;
      const { release, bytes } = fetched.value;
      await noteVerified(context, release);
      hold(release);
      await save(context, version, bytes);
      return ok(release);
    },
  };
}

/**
 * What an earlier run found, while the wait that it left behind still runs: the condition tells it, so
 * that a restart does not make a rejected manifest one that is only out of reach.
 */
function refusalBefore({ store }: BoundContext): Refusal | null {
  for (const { code, message } of store.state.conditions) {
    if (code !== "manifest_rejected" && code !== "manifest_unavailable") continue;
    const version = /^release (\S+): /.exec(message)?.[1];
    if (version !== undefined) return { version, error: { code, message } };
  }
  return null;
}

/** The release that an earlier fetch left on the disk; null where it is another one or does not verify. */
export async function readRelease(
  disk: Disk,
  version: string,
  releaseKeys: readonly Uint8Array[],
  verify?: Verify,
): Promise<VerifiedRelease | null> {
  // The disk is no authority: what it holds counts only if a built-in key's signature holds today.
  const found = await readDocument(disk, RELEASE_FILE, async (bytes) => {
    const release = await verifyRelease(bytes, version, releaseKeys, verify);
    return release.ok
      ? { kind: "loaded", value: release.value }
      : { kind: "unreadable", reason: release.error.message };
  });
  return found.ok && found.value.kind === "loaded" ? found.value.value : null;
}

async function fromPortal(
  context: BoundContext,
  version: string,
): Promise<Result<{ readonly release: VerifiedRelease; readonly bytes: Uint8Array }, NoRelease>> {
  // As it is: what a version may have needs no escape, and `+` is one of its own characters (protocol §8).
  const path = `/releases/${version}/manifest`;
  const outcome = await exchange(context, { channel: "manifests", method: "GET", path });
  switch (outcome.do) {
    case "apply":
      break;
    case "stop":
      return fail({ code: "stop", message: outcome.message });
    case "aborted":
      return fail({ code: "aborted", message: "the program ends" });
    case "wait":
      return unavailable(version, `the portal asks to wait ${Math.round(outcome.ms / 1000)} s`);
    case "update":
      return unavailable(version, "the portal takes no agent this old");
    case "back_off":
    case "give_up":
      // An answer of 200 that is no JSON is no envelope either (protocol §6).
      if (outcome.code === "malformed_answer") {
        return fail({
          code: "manifest_rejected",
          message: `release ${version}: ${outcome.message}`,
        });
      }
      return unavailable(version, outcome.message);
  }
  const { program, verify } = context;
  const release = await verifyRelease(outcome.bytes, version, program.releaseKeys, verify);
  if (!release.ok) {
    await context.channels.failed("manifests");
    return fail({
      code: "manifest_rejected",
      message: `release ${version}: ${release.error.message}`,
    });
  }
  await context.channels.succeeded("manifests");
  context.ports.log.write(
    "info",
    "manifest_verified",
    `the manifest of release ${version} verifies`,
  );
  return ok({ release: release.value, bytes: outcome.bytes });
}

function unavailable(version: string, why: string): Result<never, NoRelease> {
  return fail({ code: "manifest_unavailable", message: `release ${version}: ${why}` });
}
