import type { JsonObject } from "../../core/json.ts";

/** What the API answers: a status and a JSON object, or text. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: JsonObject | string;
}

/** An answer that says no, as a Status object. Some of the API's own have no reason. */
export function failure(status: number, reason: string | null, message: string): ApiAnswer {
  const body = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === null ? {} : { reason }),
    code: status,
  };
  return { status, body };
}

/** 404 for an object of a known kind. */
export function notFound(resource: string, name: string): ApiAnswer {
  return failure(404, "NotFound", `${resource} "${name}" not found`);
}

/** 404 for a kind that a known group does not have. */
export function unknownResource(): ApiAnswer {
  return failure(404, "NotFound", "the server could not find the requested resource");
}

/** 404 for a path that leads nowhere: the group does not exist either. No Status object. */
export function unknownPath(): ApiAnswer {
  return { status: 404, body: "404 page not found\n" };
}
