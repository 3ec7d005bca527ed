import type { NodeEvent } from "../node/node_event.ts";

/** One line about an event on a machine, for people: what, and why as far as the agent says it. */
export function describeEvent(event: NodeEvent): string {
  switch (event.kind) {
    case "started":
      return `agent     starts, version ${event.version}`;
    case "ended":
      return `agent     ends: ${event.how}`;
    case "killed":
      return event.power === null
        ? `agent     is killed at ${event.at}`
        : `machine   loses its power at ${event.at}; names that were not synced are ${event.power}`;
    case "booted":
      return "machine   has booted";
    case "log":
      return `agent     ${event.event}: ${event.message}`;
    case "request":
      return `request   ${event.method} ${event.path.replace("/agent/v1", "")}: ${
        event.status ?? event.error
      } after ${Math.round(event.ms)} ms`;
    case "effect":
      return `machine   ${event.what}${event.detail === "" ? "" : ` ${event.detail}`}`;
  }
}

/** `1d 02:03:04.567` since the beginning. */
export function describeTime(ms: number): string {
  const pad = (value: number, length = 2) => String(Math.floor(value)).padStart(length, "0");
  const clock = [pad(ms / 3_600_000 % 24), pad(ms / 60_000 % 60), pad(ms / 1000 % 60)].join(":");
  const days = Math.floor(ms / 86_400_000);
  return `${days > 0 ? `${days}d ` : ""}${clock}.${pad(ms % 1000, 3)}`;
}

/** A hash of everything that happened, in order: two runs with the same one were the same. */
export interface TraceHash {
  add(text: string): void;
  /** Eight hex digits. */
  value(): string;
}

/** FNV-1a of 32 bits: cheap, and enough to tell two runs apart. */
export function createTraceHash(): TraceHash {
  let hash = 0x811c9dc5;
  return {
    add(text) {
      for (let at = 0; at < text.length; at++) {
        hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
      }
    },
    value: () => (hash >>> 0).toString(16).padStart(8, "0"),
  };
}
