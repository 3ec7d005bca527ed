import { isOperationId } from "../protocol/identifiers.ts";
import type { Operation } from "../protocol/operation.ts";
import type { OperationResult } from "../protocol/operation.ts";
import type { Report, State } from "../state/state.ts";

/** What becomes of an operation that the portal offers. */
export type Verdict =
  /** Its ID could not name a log file: never used (condition `invalid_operation`). */
  | { readonly kind: "invalid_id" }
  /** It is the one under way, or another is not done yet: nothing to do now. */
  | { readonly kind: "ignore" }
  /** Its report goes to the portal: it was refused, or it ended before and its result is sent again. */
  | { readonly kind: "report"; readonly report: Report };

/**
 * Judges an offered operation (protocol §5). At most one at a time: another one waits until the report of
 * the one before is acknowledged or given up. An ID that finished within 30 days is not run again.
 */
export function judgeOffer(operation: Operation, state: State): Verdict {
  if (!isOperationId(operation.id)) return { kind: "invalid_id" };
  if (state.operation !== null) return { kind: "ignore" };
  const finished = Object.hasOwn(state.finished, operation.id)
    ? state.finished[operation.id]
    : undefined;
  if (finished !== undefined) return report(operation.id, finished.kind, finished.result);
  return report(operation.id, operation.kind.slice(0, 64), {
    state: "unsupported",
    message: `not implemented: this version of the agent runs no operations ('${
      operation.kind.slice(0, 64)
    }')`,
  });
}

function report(id: string, kind: string, result: OperationResult): Verdict {
  return { kind: "report", report: { id, kind, step: null, events: [], seq: 0, result } };
}
