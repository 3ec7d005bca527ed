import { isJsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { RestorePortal } from "./restore_portal.ts";

/** One line of what happens. */
export interface StoryLine {
  /** Simulated time since the beginning, milliseconds. */
  readonly at: number;
  /** A server, `portal`, `network`, `cluster` or `customer`. */
  readonly who: string;
  readonly what: string;
}

/** A story that is told while it happens. */
export interface Story {
  readonly lines: readonly StoryLine[];
  say(who: string, what: string): void;
  /** Tells what the portal has heard since: steps and results of operations, and who leads. */
  look(portal: RestorePortal): void;
}

/** An empty story. */
export function createStory(clock: Clock, tell: (line: StoryLine) => void = () => {}): Story {
  const lines: StoryLine[] = [];
  const told = new Map<string, number>();
  const ended = new Set<string>();
  let leaders = "";

  function say(who: string, what: string): void {
    const line = { at: clock.monotonic(), who, what };
    lines.push(line);
    tell(line);
  }

  return {
    lines,
    say,
    look(portal) {
      for (const { id, nodeName, offer, events, result } of portal.operations()) {
        const kind = isJsonObject(offer) ? offer["kind"] : "";
        const news = events.slice(told.get(id) ?? 0);
        for (const { step, state, message } of news) {
          const said = message === undefined ? "" : `: ${message}`;
          if (state === "progress" && said === "") continue;
          const isOver = news.some((each) => each.step === step && each.state === "succeeded");
          if (state === "started" && isOver) continue;
          const how = state === "progress" ? "" : ` ${state}`;
          say(nodeName, `${kind} ${id}  ${step ?? ""}${how}${said}`);
        }
        told.set(id, events.length);
        if (result === null || ended.has(id)) continue;
        ended.add(id);
        const why = result.message === undefined ? "" : `: ${result.message}`;
        say(nodeName, `${kind} ${id}  has ${result.state}${why}`);
      }
      const now = portal.leaders().join(", ");
      if (now !== leaders) say("cluster", now === "" ? "nobody leads" : `${now} leads`);
      leaders = now;
    },
  };
}
