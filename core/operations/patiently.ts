import type { DiskError } from "../ports/disk.ts";
import type { ProgramError } from "../ports/systemd.ts";
import { fail, type Result } from "../result.ts";
import type { StepTools } from "./definition.ts";
import { lookFor } from "./look_for.ts";

/** Why something was not done, in words, and whether that may pass by itself. */
export interface Refusal {
  readonly message: string;
  readonly passes: boolean;
  /** What the operation's result has as its code, where that is a code of its own. */
  readonly code?: string;
}

/** How long trouble may last before anything is committed, milliseconds: a full disk is cleared by then, or not. */
const PATIENCE_MS = 15 * 60_000;

/**
 * A disk that is full, read-only or in trouble may be well again, and a program that was slow may be done the
 * next time; rights and missing files stay as they are.
 */
const PASSING: readonly string[] = ["full", "read_only", "io", "timeout"];

/** Whether a failure may pass by itself. */
export function passes(error: DiskError | ProgramError | Refusal): boolean {
  return "passes" in error ? error.passes : PASSING.includes(error.code);
}

/** A port's failure among refusals in words. */
export function refusalOf(error: { readonly code: string; readonly message: string }): Refusal {
  return { message: error.message, passes: PASSING.includes(error.code) };
}

/** A refusal that stays one. */
export function forGood(message: string): Result<never, Refusal> {
  return fail({ message, passes: false });
}

/**
 * Tries again while the trouble may pass, for 15 minutes at most and within the step's limit: for what comes
 * before anything is committed, where there is a way back. What is committed is for `complete`.
 */
export async function patiently<P, T, E extends DiskError | ProgramError | Refusal>(
  tools: StepTools<P>,
  what: string,
  attempt: () => Promise<Result<T, E>>,
): Promise<Result<T, E>> {
  let last = await attempt();
  if (last.ok || !passes(last.error)) return last;
  await tools.say(`${last.error.message}: trying again`);
  await lookFor(tools, what, PATIENCE_MS, async () => {
    last = await attempt();
    return last.ok || !passes(last.error) ? true : null;
  });
  return last;
}
