import type { Clock } from "../../core/ports/clock.ts";
import type { Recorder } from "../../simulate/report/recorder.ts";
import { draw, print } from "../print.ts";
import { liveLine, liveLines } from "./live_view.ts";

/** How often the live view is drawn on a terminal, and a line is written elsewhere, milliseconds. */
const DRAW_MS = 500;
const LINE_MS = 5_000;

/** Shows how a run goes on stderr until `until` aborts. */
export async function watchRun(
  recorder: Recorder,
  durationMs: number,
  clock: Clock,
  until: AbortSignal,
): Promise<void> {
  const isTerminal = Deno.stderr.isTerminal();
  const begun = clock.monotonic();
  let before = { at: begun, requests: 0 };
  let drawn = 0;
  while (!until.aborted) {
    await clock.sleep(isTerminal ? DRAW_MS : LINE_MS, until);
    const at = clock.monotonic();
    const look = recorder.look();
    const rate = (look.requests - before.requests) / Math.max(0.001, (at - before.at) / 1000);
    const moment = { look, elapsedMs: at - begun, durationMs, rate };
    // Only whole spans give a rate that says something.
    if (isTerminal ? at - before.at >= 2 * DRAW_MS : true) {
      before = { at, requests: look.requests };
    }
    if (!isTerminal) {
      if (!until.aborted) print("stderr", `${liveLine(moment)}\n`);
      continue;
    }
    const lines = liveLines(moment);
    const up = drawn === 0 ? "" : `\x1b[${drawn}A`;
    draw("stderr", up + lines.map((line) => `\r\x1b[K${line}\n`).join(""));
    drawn = lines.length;
  }
}
