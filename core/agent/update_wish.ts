import type { Artifact } from "../protocol/release.ts";
import { PROGRAM_FILE } from "../state/paths.ts";
import { type BoundContext, raiseCondition } from "./context.ts";
import type { AgeRefusalCode } from "../protocol/release_age.ts";
import { judgeRelease } from "./release_guard.ts";
import type { Releases } from "./releases.ts";

/** What is to become of the agent's version. */
export type UpdateWish =
  | { readonly kind: "none" | "stop" | "aborted" }
  /** Another version is wanted and cannot be had; for people. */
  | {
    readonly kind: "impossible";
    readonly message: string;
    /** Its release is too old: the condition that says so. */
    readonly code?: AgeRefusalCode;
  }
  | { readonly kind: "update"; readonly version: string; readonly artifact: Artifact };

/**
 * The version that is wanted, by a verified manifest. `demanded`: the release that a 426 named, which
 * goes before the desired state (protocol §1).
 */
export async function updateWish(
  context: BoundContext,
  releases: Releases,
  demanded: string | null,
): Promise<UpdateWish> {
  const { program, store, ports } = context;
  const desired = store.state.desired?.state;
  if (demanded === null) {
    if (desired === undefined || desired.agent.version === program.version) return { kind: "none" };
  }
  const name = demanded ?? desired?.release ?? "";
  const what = demanded === null
    ? `version ${desired?.agent.version} is wanted, ${program.version} runs`
    : `the portal takes only the agent of release ${demanded}`;
  const impossible = (why: string) => ({ kind: "impossible", message: `${what}: ${why}` }) as const;

  if (program.irreplaceable !== undefined) return impossible(program.irreplaceable);
  const release = await releases.get(context, name);
  if (!release.ok) {
    const { code, message } = release.error;
    return code === "stop" || code === "aborted" ? { kind: code } : impossible(message);
  }
  if (demanded !== null) {
    // A 426 alone gets no old release in (trust.md T5).
    const age = await judgeRelease(context, releases, release.value, false);
    if (age.kind === "refused") return { ...impossible(age.message), code: age.code };
    if (age.older !== null) await raiseCondition(context, "release_older", age.older);
  }
  const { version, artifacts } = release.value.agent;
  if (demanded === null && version !== desired?.agent.version) {
    return impossible(`release ${name} has the agent ${version}`);
  }
  if (version === program.version) return impossible("that is the version that runs");
  const artifact = artifacts[program.arch];
  if (artifact === undefined) {
    return impossible(`release ${name} has no agent for ${program.arch}`);
  }
  const own = await ports.disk.stat(PROGRAM_FILE);
  if (!own.ok) return impossible(own.error.message);
  if (own.value === null) return impossible(`there is no ${PROGRAM_FILE} to replace`);
  return { kind: "update", version, artifact };
}
