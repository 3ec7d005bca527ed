import type { Clock } from "../../core/ports/clock.ts";
import { createMemory } from "./memory.ts";
import type { Portal } from "./portal.ts";
import { createMemoryStore } from "./store.ts";

/** What an in-process portal is made of; the rest of a portal follows from it. */
export type InProcessOptions =
  & Pick<Portal, "state" | "random" | "releaseKeys" | "verify" | "hashBody" | "seal" | "answerKey">
  & { readonly clock: Clock };

/** A portal without sockets that keeps nothing: its rules are called, on a clock that need not be real. */
export function createPortalInProcess({ clock, ...parts }: InProcessOptions): Portal {
  const { state } = parts;
  const now = () => clock.now() + state.clockOffsetMs;
  return {
    ...parts,
    memory: createMemory(),
    store: createMemoryStore(),
    now,
    time: () => new Date(now()).toISOString(),
    touch() {},
    origin: () => "https://agents.example.com",
    base: "/agent/v1",
  };
}
