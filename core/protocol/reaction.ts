import type { Meaning } from "./answer.ts";

/** What is remembered between the answers to requests of one kind. */
export interface Memory {
  /** The answer before was `clock_skew`. */
  readonly skewed: boolean;
  /** The answer before was `replayed`. */
  readonly replayed: boolean;
  /** Answers in a row that refused the request as such (400, other 4xx, 3xx). */
  readonly refused: number;
}

/** Nothing remembered. */
export const FRESH_MEMORY: Memory = { skewed: false, replayed: false, refused: 0 };

/** What the agent does about an answer to a signed request. */
export type Reaction =
  | { readonly do: "apply" }
  /** Sign the same request again at once, with the next second. */
  | { readonly do: "sign_again" }
  | { readonly do: "back_off"; readonly code: string; readonly message: string }
  /** The same request has been refused often enough: never again (a sync: at the longest step). */
  | { readonly do: "give_up"; readonly code: string; readonly message: string }
  | { readonly do: "wait"; readonly ms: number }
  /** The identity is revoked. */
  | { readonly do: "stop"; readonly message: string }
  /** Update to the agent of `release`, whatever the desired state says. */
  | { readonly do: "update"; readonly release: string };

/** How often the same request may be refused before it is never sent again (protocol §1). */
export const MAX_REFUSALS = 3;

/** The reaction to an answer, and the memory after it (protocol §1, the table for signed requests). */
export function reactionTo(
  meaning: Meaning,
  memory: Memory,
): { readonly reaction: Reaction; readonly memory: Memory } {
  switch (meaning.kind) {
    case "success":
      return { reaction: { do: "apply" }, memory: FRESH_MEMORY };
    case "unauthorized":
      return { reaction: { do: "stop", message: meaning.message }, memory: FRESH_MEMORY };
    case "wait":
      return { reaction: { do: "wait", ms: meaning.ms }, memory: { ...memory, ...CALM } };
    case "too_old":
      return meaning.release === null
        ? {
          reaction: {
            do: "back_off",
            code: "protocol_too_old",
            message: "426 names no release to update to",
          },
          memory: { ...memory, ...CALM },
        }
        : {
          reaction: { do: "update", release: meaning.release },
          memory: { ...memory, ...CALM },
        };
    case "trouble":
      return {
        reaction: { do: "back_off", code: meaning.code, message: meaning.message },
        memory: { ...memory, ...CALM },
      };
    case "clock_skew":
      return {
        reaction: memory.skewed
          ? {
            do: "back_off",
            code: "clock_skew",
            message: "the portal refuses the time again after the correction",
          }
          : { do: "sign_again" },
        memory: { ...memory, skewed: true, replayed: false },
      };
    case "replayed":
      return memory.replayed || memory.refused + 1 >= MAX_REFUSALS
        ? refused("replayed", "the portal says again that it has seen this signature", memory)
        : {
          reaction: { do: "sign_again" },
          memory: { ...memory, skewed: false, replayed: true, refused: memory.refused + 1 },
        };
    case "rejected":
      return refused(meaning.code || `http_${meaning.status}`, meaning.message, memory);
  }
}

const CALM = { skewed: false, replayed: false };

function refused(code: string, message: string, memory: Memory) {
  const count = memory.refused + 1;
  const reaction: Reaction = count >= MAX_REFUSALS
    ? { do: "give_up", code, message }
    : { do: "back_off", code, message };
  return { reaction, memory: { ...CALM, refused: count } };
}
