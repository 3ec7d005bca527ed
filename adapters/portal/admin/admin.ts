import type { z } from "zod";
import { parseBody } from "../../../core/protocol/json_body.ts";
import { describeIssue } from "../../../core/protocol/schema_error.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import { type Answer, refuse, type WireRequest } from "../http/message.ts";
import type { Portal } from "../portal.ts";

/** What the admin API may do beside changing the portal's state. */
export interface Admin {
  readonly portal: Portal;
  /** Refuses connections of agents, or takes them again. */
  outage(down: boolean): Promise<void>;
  isDown(): boolean;
}

/** One call: the parts of the path that the route left open, and the request. */
export interface Call {
  readonly admin: Admin;
  readonly portal: Portal;
  readonly names: readonly string[];
  readonly request: WireRequest & { readonly body: Uint8Array };
}

/** Does what a call says. */
export type AdminHandler = (call: Call) => Answer | Promise<Answer>;

/** The call's body by its schema; an empty one reads as `{}`. */
export function readCall<T>(call: Call, schema: z.ZodType<T>): Result<T, Answer> {
  const { body } = call.request;
  const parsed = body.length === 0 ? ok({}) : parseBody(body);
  if (!parsed.ok) return fail(refuse(400, "invalid_request", parsed.error.message));
  const value = schema.safeParse(parsed.value);
  return value.success
    ? ok(value.data)
    : fail(refuse(400, "invalid_request", describeIssue(value.error)));
}

/** The answer where a path names something that is not there. */
export function unknown(what: string): Answer {
  return refuse(404, "not_found", `there is no such ${what}`);
}
