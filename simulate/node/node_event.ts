import type { JsonValue } from "../../core/json.ts";
import type { LogLevel } from "../../core/ports/log.ts";

/** What happens on a simulated machine, for the live view, the report and the invariants. */
export type NodeEvent =
  /** A process of the agent begins. */
  | { readonly kind: "started"; readonly version: string }
  /** It ended by itself: `stopped`, `updated`, `unusable: ...`, `crashed: ...`. */
  | { readonly kind: "ended"; readonly how: string }
  /** It was killed, or the machine lost its power. */
  | { readonly kind: "killed"; readonly power: "lost" | "kept" | null; readonly at: string }
  /** The machine booted again. */
  | { readonly kind: "booted" }
  /** A line of the agent's log. */
  | {
    readonly kind: "log";
    readonly level: LogLevel;
    readonly event: string;
    readonly message: string;
    readonly fields: Readonly<Record<string, JsonValue | undefined>>;
  }
  /** A request ended; `status` is null where there was no answer, and `error` says why. */
  | {
    readonly kind: "request";
    readonly method: string;
    /** The whole URL's path. */
    readonly path: string;
    readonly status: number | null;
    readonly error: string | null;
    /** How long it took, milliseconds of the monotonic clock. */
    readonly ms: number;
  }
  /** The machine was changed: `k3s started`, `reset begun`, `reset done`, `applied PATH`, `wrote PATH`. */
  | { readonly kind: "effect"; readonly what: Effect; readonly detail: string };

/** What the agent does to its machine. */
export type Effect =
  | "k3s_started"
  | "k3s_stopped"
  | "snapshot_begun"
  | "snapshot_taken"
  | "reset_begun"
  | "reset_done"
  | "applied"
  | "removed"
  | "program_installed"
  | "rolled_back";

/** Hears of everything that happens on one machine. */
export type Observe = (event: NodeEvent) => void;
