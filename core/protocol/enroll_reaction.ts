import type { Meaning } from "./answer.ts";
import { MAX_REFUSALS } from "./reaction.ts";

/** What is remembered about enrolling. */
export interface EnrollMemory {
  /** How often the portal refused this token with 401, counted across restarts. */
  readonly tokenRefused: number;
  /** How often this very request was refused (400, other 4xx, 3xx) since the agent's start. */
  readonly requestRefused: number;
}

/** What the agent does about an answer to `POST /enroll`. */
export type EnrollReaction =
  | { readonly do: "store" }
  | { readonly do: "back_off"; readonly code: string; readonly message: string }
  | { readonly do: "wait"; readonly ms: number }
  /** Nothing more to try with what this node has: idle. */
  | { readonly do: "idle"; readonly code: string; readonly message: string };

/** The codes of a 401 that say something about the token; any other one is as 400 (protocol §3). */
const OF_THE_TOKEN = ["invalid_token", "token_used", "token_expired", "server_mismatch"];

/** The reaction to an answer, and the memory after it (protocol §3, its table). */
export function enrollReactionTo(
  meaning: Meaning,
  memory: EnrollMemory,
): { readonly reaction: EnrollReaction; readonly memory: EnrollMemory } {
  switch (meaning.kind) {
    case "success":
      return { reaction: { do: "store" }, memory };
    case "wait":
      return { reaction: { do: "wait", ms: meaning.ms }, memory };
    case "trouble":
      return {
        reaction: { do: "back_off", code: meaning.code, message: meaning.message },
        memory,
      };
    case "unauthorized": {
      if (!OF_THE_TOKEN.includes(meaning.code)) {
        return rejected(401, meaning.code, meaning.message, memory);
      }
      const tokenRefused = memory.tokenRefused + 1;
      const { code } = meaning;
      return {
        reaction: tokenRefused >= MAX_REFUSALS
          ? {
            do: "idle",
            code,
            message:
              `${meaning.message}; the token was refused ${tokenRefused} times and is not tried ` +
              "again: the way out is a new server with a new token",
          }
          : { do: "back_off", code, message: meaning.message },
        memory: { ...memory, tokenRefused },
      };
    }
    case "too_old":
      return {
        reaction: {
          do: "idle",
          code: "protocol_too_old",
          message: "the portal takes no agent this old: the server needs a newer image",
        },
        memory,
      };
    case "clock_skew":
      return rejected(409, "clock_skew", "409 clock_skew to an unsigned request", memory);
    case "replayed":
      return rejected(400, "replayed", "400 replayed to an unsigned request", memory);
    case "rejected":
      return rejected(meaning.status, meaning.code, meaning.message, memory);
  }
}

function rejected(status: number, code: string, message: string, memory: EnrollMemory) {
  if (status === 409 && code === "image_mismatch") {
    const way = "the node needs a new server from the right image";
    return { reaction: { do: "idle", code, message: `${message}; ${way}` } as const, memory };
  }
  // The configuration cannot be built yet, or the portal is busy with this node: not our request's fault.
  if (status === 409 && code === "conflict") {
    return { reaction: { do: "back_off", code, message } as const, memory };
  }
  const requestRefused = memory.requestRefused + 1;
  const shown = code || `http_${status}`;
  const reaction: EnrollReaction = requestRefused >= MAX_REFUSALS
    ? {
      do: "idle",
      code: shown,
      message:
        `${message}; this request was refused ${requestRefused} times and is not sent again ` +
        "before a restart",
    }
    : { do: "back_off", code: shown, message };
  return { reaction, memory: { ...memory, requestRefused } };
}
