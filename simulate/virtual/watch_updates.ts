import type { NodeEvent } from "../node/node_event.ts";
import type { Watched } from "./watched.ts";

/** A version that was taken back or failed its check is left alone for six hours (operations.md). */
const HOLD_MS = 6 * 3_600_000;

/** Own updates: what was taken back, or was not what its manifest says, is not tried again so soon. */
export function watchUpdates({ timeline, broken }: Pick<Watched, "timeline" | "broken">) {
  const failedAt = new Map<string, number>();
  function begins(version: string): void {
    const since = failedAt.get(version);
    if (since === undefined) return;
    const held = timeline.elapsed() - since;
    if (held < HOLD_MS - SLACK_MS) {
      broken(
        "holds_what_failed",
        `${version} is fetched again after ${Math.round(held / 60_000)} min`,
      );
    }
  }

  return {
    onLog({ event, message, fields }: NodeEvent & { kind: "log" }): void {
      if (event === "update" && fields["step"] === "fetch") begins(String(fields["to"]));
      const back = event === "rolled_back"
        ? /taken back from (\S+) /.exec(message)?.[1]
        : undefined;
      if (back !== undefined) failedAt.set(back, timeline.elapsed());
    },
  };
}

/** A clock that was set, and not corrected yet as the hold began or ended, milliseconds. */
const SLACK_MS = 2 * 3_600_000;
