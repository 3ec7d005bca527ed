import { isJsonObject } from "../../core/json.ts";
import type { Answer, Exchange } from "./wire.ts";

/** What an answer should be like. */
export interface Expected {
  /** For people. */
  readonly says: string;
  /** The one status that it must have, where there is one. */
  readonly status?: number;
  holds(answer: Answer): boolean;
}

/** 200; any 2xx, since `answer.status` tells the others. */
export const ACCEPTED: Expected = {
  says: "200",
  holds: ({ status }) => status >= 200 && status < 300,
};

/** A 4xx that refuses this request and not its time, its number or the agent's version. */
export const REFUSED: Expected = {
  says: "a refusal: 400, 401 or another 4xx",
  holds: (answer) =>
    answer.status >= 400 && answer.status < 500 && ![426, 429].includes(answer.status) &&
    errorCode(answer) !== "clock_skew",
};

/** This status, and one of these codes where any is named. */
export function refusal(status: number, ...codes: readonly string[]): Expected {
  const named = codes.length === 0 ? "" : ` ${codes.join(" or ")}`;
  return {
    says: `${status}${named}`,
    status,
    holds: (answer) =>
      answer.status === status && (codes.length === 0 || codes.includes(errorCode(answer))),
  };
}

/** The code of an error body; empty where there is none. */
export function errorCode({ json }: Answer): string {
  const error = isJsonObject(json) ? json["error"] : undefined;
  const code = isJsonObject(error) ? error["code"] : undefined;
  return typeof code === "string" ? code : "";
}

/** An exchange's end in a few words. Of a body only an error's code and message: the rest may be secret. */
export function whatCame({ answer, failure }: Exchange): string {
  if (answer === null) return `no answer (${failure ?? "unknown"})`;
  const error = isJsonObject(answer.json) ? answer.json["error"] : undefined;
  const message = isJsonObject(error) ? error["message"] : undefined;
  const code = errorCode(answer);
  const said = typeof message === "string" ? `: ${message.slice(0, 200)}` : "";
  return `${answer.status}${code === "" ? "" : ` ${code.slice(0, 64)}`}${said}`;
}
