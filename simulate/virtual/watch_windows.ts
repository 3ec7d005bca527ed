import type { Answer } from "../../adapters/portal/http/message.ts";
import { nextWindow } from "../../core/host/windows.ts";
import type { JsonValue } from "../../core/json.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { Maintenance } from "../../core/protocol/desired_state.ts";
import { UPDATE_FILE } from "../../core/state/paths.ts";
import type { NodeEvent } from "../node/node_event.ts";
import { storedOperation, storedRevision, storedState } from "./stored_state.ts";
import type { Watched } from "./watched.ts";
import { runningOperation } from "../../core/state/journal.ts";

/** What a clock that the agent has corrected may still be off, milliseconds. */
const SLACK_MS = 61_000;
/** A step of a portal's clock that contradicts nothing: its requests are taken all along. */
const NO_STEP_MS = 120_000;
/** A portal that says another time for so long, and says it twice, is believed; milliseconds. */
const BELIEVED_MS = 60_000;
/** A restart that could be made for so long is missed: two cycles, or three, and what a step may cost. */
const MISSED_MS = 300_000;

/**
 * k3s is restarted for the host's configuration inside of maintenance windows only, never while an operation
 * runs, and in every window in which nothing is in the way. Windows go by the true time, and by a portal's that has said another one again and
 * again: nobody on the node can know better.
 */
export function watchWindows({ timeline, node, owner, portalClock, broken }: Watched) {
  /** What the portal has told since it tells that time. */
  let told = { ahead: 0, times: 0, since: 0 };
  /** A step of the portal's clock that the agent may believe; null: none. */
  let believed: number | null = null;
  /** Since when nothing has been in the way of a restart; null: something is. */
  let freeSince: number | null = null;
  const madeAhead = new WeakMap<HttpRequest, number>();

  function maintenance(): Maintenance | undefined {
    const revision = storedRevision(node);
    const document = revision === null ? undefined : owner.offered.get(revision);
    return document?.["maintenance"] as Maintenance | undefined;
  }

  function isOpenAt(windows: Maintenance, time: number): boolean {
    const next = nextWindow(windows, time);
    return next !== null && next.opensAt <= time;
  }

  /** Whether one is open, by a clock that is `ahead` and a little off; `all`: by every such clock. */
  function isOpen(windows: Maintenance, ahead: number, all = false): boolean {
    const now = timeline.clock.now() + ahead;
    const times = [now - SLACK_MS, now, now + SLACK_MS];
    const opens = (time: number) => isOpenAt(windows, time);
    return all ? times.every(opens) : times.some(opens);
  }

  function noteTold(ahead: number): void {
    if (told.ahead !== ahead) told = { ahead, times: 0, since: timeline.elapsed() };
    told = { ...told, times: told.times + 1 };
    const isTrue = Math.abs(ahead) < NO_STEP_MS;
    const isLong = timeline.elapsed() - told.since >= BELIEVED_MS;
    believed = isTrue || (told.times > 1 && isLong) ? ahead : null;
  }

  /** Whether k3s could be restarted now, as far as can be seen from outside. */
  function isFree(report: Report): boolean {
    const windows = maintenance();
    return report.pending.k3s_restart && report.operation === null &&
      storedOperation(node) === null && windows !== undefined && isOpen(windows, 0, true) &&
      node.cluster.unit() === "active" && node.disk.text(UPDATE_FILE) === null &&
      portalClock.ahead() === 0;
  }

  return {
    onRestart(): void {
      freeSince = null;
      const operation = runningOperation(storedState(node) ?? { operation: null });
      if (operation !== null) {
        broken("no_restart_in_operation", `k3s is restarted while operation ${operation.id} runs`);
      }
      const windows = maintenance();
      const clocks = believed === null ? [0] : [0, believed];
      if (windows !== undefined && clocks.some((ahead) => isOpen(windows, ahead))) return;
      broken("restarts_in_windows", `k3s is restarted outside of every window`);
    },
    onStep(): void {
      freeSince = null;
    },
    onEvent(event: NodeEvent): void {
      // A portal that does not answer cannot confirm the time.
      const isHeard = event.kind === "log" ||
        (event.kind === "request" && (event.status === 200 || !event.path.endsWith("/sync")));
      if (!isHeard) freeSince = null;
    },
    onAnswer(request: HttpRequest): void {
      madeAhead.set(request, portalClock.ahead());
    },
    onReceive(request: HttpRequest, { status }: Answer): void {
      const ahead = madeAhead.get(request);
      if (ahead === undefined || (status !== 200 && status !== 409)) return;
      const isSync = request.url.endsWith("/sync");
      if (status === 409 || isSync) noteTold(ahead);
      if (!isSync) return;
      const report = JSON.parse(UTF8.decode(request.body)) as Report;
      if (status !== 200 || !isFree(report)) freeSince = null;
      else freeSince ??= timeline.elapsed();
      const free = freeSince === null ? 0 : timeline.elapsed() - freeSince;
      if (free < MISSED_MS) return;
      freeSince = null;
      const minutes = Math.round(free / 60_000);
      broken("no_window_missed", `k3s waits for a restart for ${minutes} minutes of a window`);
    },
  };
}

const UTF8 = new TextDecoder();

interface Report {
  readonly pending: { readonly k3s_restart: boolean };
  readonly operation: JsonValue;
}
