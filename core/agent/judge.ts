import { isJsonObject, type JsonValue } from "../json.ts";
import { DesiredState } from "../protocol/desired_state.ts";
import type { Operation } from "../protocol/operation.ts";
import type { Release } from "../protocol/release.ts";
import { describeIssue } from "../protocol/schema_error.ts";
import type { SealingKey } from "../protocol/sealing.ts";
import { openAll, scanSyncAnswer } from "../protocol/secret_positions.ts";
import { SyncAnswer } from "../protocol/sync.ts";
import { fail, ok, type Result } from "../result.ts";

/** A desired state as offered: whole and readable, or with the fault that keeps it from being used. */
export type Offered =
  | { readonly kind: "unchanged" }
  | { readonly kind: "desired"; readonly tag: string; readonly state: DesiredState }
  | { readonly kind: "faulty"; readonly message: string };

/** What an answer to a sync turned out to be, before any of it is used. */
export type Judgement =
  /** No answer of this protocol: like 5xx. */
  | { readonly kind: "malformed"; readonly message: string }
  /** The whole document is refused for a secret in it. */
  | {
    readonly kind: "refused";
    readonly code: "unsealed_secret" | "undecryptable_secret";
    readonly message: string;
  }
  | {
    readonly kind: "usable";
    /** Milliseconds since the epoch. */
    readonly portalTime: number;
    readonly offered: Offered;
    readonly operation: Operation | null;
  };

/**
 * Judges the body of an answer to `POST /sync` (protocol §2 and §4). Secrets come first, on the raw
 * document: nothing else in it is looked at while one of them is in clear or does not open. Faults
 * inside the desired state do not hold back the operation beside it.
 */
export function judgeSyncAnswer(body: JsonValue, keys: readonly SealingKey[]): Judgement {
  const boxes = scanSyncAnswer(body);
  if (!boxes.ok) return { kind: "refused", ...boxes.error };
  const opened = openAll(boxes.value, keys);
  if (!opened.ok) return { kind: "refused", ...opened.error };

  const answer = SyncAnswer.safeParse(withExpiryAsText(body));
  if (!answer.success) return { kind: "malformed", message: describeIssue(answer.error) };
  const { time, desired, desired_tag, operation } = answer.data;
  return {
    kind: "usable",
    portalTime: Date.parse(time),
    offered: offeredBy(desired, desired_tag),
    operation,
  };
}

/**
 * The answer with its operation's `expires_at` as a text, whatever it is: one that is no time is a wrong
 * parameter of that operation (protocol §5) and no fault of all the rest.
 */
function withExpiryAsText(body: JsonValue): JsonValue {
  if (!isJsonObject(body) || !isJsonObject(body["operation"])) return body;
  const { expires_at } = body["operation"];
  if (expires_at === undefined || typeof expires_at === "string") return body;
  return { ...body, operation: { ...body["operation"], expires_at: JSON.stringify(expires_at) } };
}

function offeredBy(desired: SyncAnswer["desired"], tag: unknown): Offered {
  if (desired === null) return { kind: "unchanged" };
  const state = DesiredState.safeParse(desired);
  if (!state.success) {
    return { kind: "faulty", message: describeIssue(state.error, ["desired"]) };
  }
  return { kind: "desired", tag: String(tag), state: state.data };
}

/**
 * Whether no option that the release's templates declare secret arrives in clear: known only with the
 * manifest, and refuses the desired state (protocol §2).
 */
export function checkSecretOptions(
  desired: DesiredState,
  release: Release,
): Result<void, { readonly code: "unsealed_secret"; readonly message: string }> {
  for (const { name, options } of desired.addons) {
    if (!Object.hasOwn(release.addons, name)) continue;
    const declared = release.addons[name]?.options ?? {};
    const clear = Object.keys(options).find((option) =>
      Object.hasOwn(declared, option) && declared[option]?.secret === true
    );
    if (clear !== undefined) {
      return fail({
        code: "unsealed_secret",
        message:
          `desired.addons.${name}.options.${clear}: is secret by the release's template and ` +
          "must be in secret_options, sealed",
      });
    }
  }
  return ok(undefined);
}
