import type { Clock } from "../../core/ports/clock.ts";
import type { Http } from "../../core/ports/http.ts";
import type { Observe } from "./node_event.ts";

/** A client that tells how each request ended. `seen` is called beside it. */
export function observeHttp(http: Http, clock: Clock, observe: Observe): Http {
  return {
    async request(request) {
      const begun = clock.monotonic();
      const answer = await http.request(request);
      observe({
        kind: "request",
        method: request.method,
        path: request.url.slice(request.url.indexOf("/", "https://".length)),
        status: answer.ok ? answer.value.status : null,
        error: answer.ok ? null : answer.error.code,
        ms: clock.monotonic() - begun,
      });
      return answer;
    },
  };
}
