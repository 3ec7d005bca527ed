import { UPDATE_FILE } from "../../core/state/paths.ts";
import type { NodeEvent } from "../node/node_event.ts";
import { storedState } from "./stored_state.ts";
import type { Watched } from "./watched.ts";

/** A version that was taken back or failed its check is left alone for six hours (operations.md). */
const HOLD_MS = 6 * 3_600_000;
/** The hold begins a moment before it is told, milliseconds. */
const SLACK_MS = 60_000;

/** Own updates: what was taken back, or was not what its manifest says, is not tried again so soon. */
export function watchUpdates(
  { timeline, node, broken }: Pick<Watched, "timeline" | "node" | "broken">,
) {
  const failedAt = new Map<string, number>();
  let isStateLost = false;

  function begins(version: string): void {
    const since = failedAt.get(version);
    if (since === undefined) return;
    failedAt.delete(version);
    const held = timeline.elapsed() - since;
    if (held < HOLD_MS - SLACK_MS) {
      broken(
        "holds_what_failed",
        `${version} is fetched again after ${Math.round(held / 60_000)} min`,
      );
    }
  }

  /** A disk that takes nothing leaves a failed check to a memory that a crash ends; a rollback has a file. */
  function storedCheck(version: string | undefined): string | undefined {
    const stored = storedState(node)?.update?.holds?.[version ?? ""];
    return stored?.reason === "check" ? version : undefined;
  }

  return {
    onLog({ event, message, fields }: NodeEvent & { kind: "log" }): void {
      if (event === "update" && fields["step"] === "fetch") begins(String(fields["to"]));
      const failed = ROLLED_BACK.exec(`${event}: ${message}`)?.[1] ??
        storedCheck(FAILED_CHECK.exec(`${event}: ${message}`)?.[1]);
      // It is told again where only the end of the hold is another one.
      if (failed !== undefined && !failedAt.has(failed)) failedAt.set(failed, timeline.elapsed());
    },
    /** What was held is forgotten with state.json. */
    onStateLost(): void {
      failedAt.clear();
      isStateLost = true;
    },
    /**
     * Whether the program that cannot start leaves a lost state.json to the version before it: on trial it
     * does, because that version may be able to read the file, and its timer puts that version back.
     */
    isLeftToThePrevious(): boolean {
      isStateLost &&= storedState(node) === null;
      const trial = node.disk.text(UPDATE_FILE);
      return isStateLost && trial !== null && JSON.parse(trial).to === node.version();
    },
  };
}

/** What tells of a version that failed its trial. */
const ROLLED_BACK = /^rolled_back: .*taken back from (\S+) /;
/** What tells of a version that was fetched whole and is not what its manifest says. */
const FAILED_CHECK = /^update_failed: pbx-agent (\S+): its (?:hash|size);/;
