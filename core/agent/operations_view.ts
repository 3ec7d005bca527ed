import { operationLogPath } from "../operations/operation_log.ts";
import type { Disk } from "../ports/disk.ts";
import { isOperationId } from "../protocol/identifiers.ts";
import type { OperationResult } from "../protocol/operation.ts";
import { fail, ok, type Result } from "../result.ts";
import type { StepRecord } from "../state/journal.ts";
import { readOnlyDisk } from "../state/read_only_disk.ts";
import { ownerOf } from "../state/owner.ts";
import { loadState } from "../state/store.ts";

/** One operation as the node knows it. */
export interface OperationView {
  readonly id: string;
  readonly kind: string;
  readonly state: "running" | OperationResult["state"];
  readonly begun_at: string;
  /** Null while it runs. */
  readonly ended_at: string | null;
  /** The portal has acknowledged the result, or there is none yet: nothing is left to send. */
  readonly reported: boolean;
  readonly steps: readonly StepRecord[];
  readonly result: OperationResult | null;
}

/** The operations of the last 30 days, newest first; reads only, beside a running agent too. */
export async function readOperations(
  realDisk: Disk,
): Promise<Result<readonly OperationView[], string>> {
  const stored = await loadState(readOnlyDisk(realDisk), await ownerOf(realDisk));
  if (!stored.ok) return fail(stored.error.message);
  if (stored.value.kind === "absent") return ok([]);
  if (stored.value.kind === "unreadable") return fail(`state.json ${stored.value.reason}`);
  if (stored.value.kind === "newer") return fail("state.json was written by a newer version");
  const { operation, finished } = stored.value.value;

  const views: OperationView[] = Object.entries(finished).map(([id, entry]) => ({
    id,
    kind: entry.kind,
    state: entry.result.state,
    begun_at: entry.begun_at,
    ended_at: entry.at,
    reported: operation?.id !== id,
    steps: entry.steps,
    result: entry.result,
  }));
  if (operation !== null && operation.result === undefined) {
    const { id, kind, begun_at, steps, events } = operation;
    const reported = events.length === 0;
    views.push({
      id,
      kind,
      state: "running",
      begun_at,
      ended_at: null,
      reported,
      steps,
      result: null,
    });
  }
  return ok(views.sort((a, b) => a.begun_at < b.begun_at ? 1 : -1));
}

/** The log of one operation, oldest line first; empty where it has none. */
export async function readOperationLog(disk: Disk, id: string): Promise<readonly string[]> {
  if (!isOperationId(id)) return [];
  const read = await disk.read(operationLogPath(id));
  if (!read.ok || read.value === null) return [];
  return new TextDecoder().decode(read.value).trimEnd().split("\n");
}
