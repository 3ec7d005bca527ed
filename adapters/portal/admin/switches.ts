import * as z from "zod";
import { Fault } from "../faults.ts";
import { type Answer, json } from "../http/message.ts";
import { type Call, readCall } from "./admin.ts";
import { viewState } from "./view.ts";

/** `GET /admin/state`. */
export function getState(call: Call): Answer {
  return json(200, viewState(call.portal, call.admin.isDown()));
}

/** `POST /admin/faults`: adds one; the first that matches a request hits it. */
export function addFault(call: Call): Answer {
  const fault = readCall(call, Fault);
  if (!fault.ok) return fault.error;
  call.portal.memory.faults.push(fault.value);
  return json(200, { faults: call.portal.memory.faults.length });
}

/** `DELETE /admin/faults`: all of them. */
export function clearFaults(call: Call): Answer {
  call.portal.memory.faults = [];
  return json(200, {});
}

/** `DELETE /admin/requests`: empties the log of requests and breaches. */
export function clearRequests(call: Call): Answer {
  call.portal.memory.requests.length = 0;
  call.portal.memory.breaches.length = 0;
  return json(200, {});
}

/** A hundred years either way; a `Date` of any such time can be written. */
const MAX_OFFSET_MS = 3_155_760_000_000;
const Clock = z.strictObject({ offset_ms: z.int().min(-MAX_OFFSET_MS).max(MAX_OFFSET_MS) });

/** `PUT /admin/clock`: how far the portal's clock is off the real one. */
export function setClock(call: Call): Answer {
  const clock = readCall(call, Clock);
  if (!clock.ok) return clock.error;
  call.portal.state.clockOffsetMs = clock.value.offset_ms;
  call.portal.touch();
  return json(200, { time: call.portal.time() });
}

/** `POST /admin/outage`: the agents' port refuses connections, or is there again. */
export async function setOutage(call: Call): Promise<Answer> {
  const outage = readCall(call, z.strictObject({ down: z.boolean() }));
  if (!outage.ok) return outage.error;
  await call.admin.outage(outage.value.down);
  return json(200, { down: outage.value.down });
}
