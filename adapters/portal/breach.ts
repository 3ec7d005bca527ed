import { remember } from "./memory.ts";
import type { Portal } from "./portal.ts";

/** Whose request it is about: its path as sent, and the agent that it names. */
export interface Asker {
  readonly path: string;
  readonly agent: string | null;
}

/** Notes that a client broke a rule of the protocol for which its request is not refused. */
export function noteBreach(portal: Portal, asker: Asker, rule: string, message: string): void {
  remember(portal.memory.breaches, {
    at: portal.time(),
    rule,
    message,
    path: asker.path.slice(0, 300),
    agent: asker.agent?.slice(0, 64) ?? null,
  });
}
