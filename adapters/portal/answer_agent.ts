import { isJsonObject, type JsonValue } from "../../core/json.ts";
import type { Log } from "../../core/ports/log.ts";
import { parseBody } from "../../core/protocol/json_body.ts";
import { noteRefused } from "./events.ts";
import { comesBefore, describeFault, type FaultAction, spoil, takeFault } from "./faults.ts";
import type { Answer, Reply, WireRequest } from "./http/message.ts";
import { lookupIn, remember, type RequestRecord } from "./memory.ts";
import { hashText, type Portal } from "./portal.ts";
import { prove } from "./prove.ts";
import { pathBelow, serve } from "./serve.ts";

/** What answering needs beside the portal. */
interface Surroundings {
  readonly portal: Portal;
  readonly sleep: (ms: number) => Promise<void>;
  readonly log: Log;
}

/** Answers an agent's request, or spoils the answer where the admin asked for it; notes both. */
export async function answerAgent(around: Surroundings, request: WireRequest): Promise<Reply> {
  const { portal } = around;
  const path = pathBelow(portal.base, request.target) ?? request.target.replace(/\?.*$/, "");
  const fault = takeFault(portal.memory.faults, request.method, path);
  if (fault?.delay_ms !== undefined) await around.sleep(fault.delay_ms);
  const reply = proven(portal, request, replyTo(portal, request, fault), fault);
  const given = reply.kind === "cut" ? null : reply.answer;
  if (given?.status === 400) noteRefusedEvents(portal, path, request);

  const record: RequestRecord = {
    at: portal.time(),
    method: request.method,
    path: request.target.slice(0, 300),
    status: given?.status ?? null,
    code: given === null ? null : codeOf(given),
    agent: request.headers.get("pbx-agent")?.slice(0, 64) ?? null,
    bytes: request.body === "too_large" ? 0 : request.body.length,
    ...(path === "/enroll" ? tokenOf(request) : {}),
    ...(fault === null ? {} : { fault: describeFault(fault) }),
  };
  remember(portal.memory.requests, record);
  const outcome = record.status ?? "no answer";
  around.log.write("info", "request", `${record.method} ${record.path}: ${outcome}`, { ...record });
  return reply;
}

function replyTo(portal: Portal, request: WireRequest, fault: FaultAction | null): Reply {
  if (fault === null) return { kind: "answer", answer: serve(portal, request) };
  return spoil(fault, comesBefore(fault) ? null : serve(portal, request));
}

function proven(
  portal: Portal,
  request: WireRequest,
  reply: Reply,
  fault: FaultAction | null,
): Reply {
  if (reply.kind === "cut") return reply;
  return { ...reply, answer: prove(portal, request, reply.answer, fault?.proof) };
}

function noteRefusedEvents(portal: Portal, path: string, request: WireRequest): void {
  const id = /^\/operations\/([^/]+)\/events$/.exec(path)?.[1];
  const operation = id === undefined ? null : lookupIn(portal).operation(id);
  if (operation !== null && request.body !== "too_large") noteRefused(operation, request.body);
}

/** An enrollment is found again by its token's hash. */
function tokenOf(request: WireRequest): { token_sha256?: string } {
  const token = memberOf(request.body, "token");
  return typeof token === "string" ? { token_sha256: hashText(token) } : {};
}

function codeOf(answer: Answer): string | null {
  if (answer.status < 400) return null;
  const error = memberOf(answer.body, "error");
  const code = isJsonObject(error ?? null) ? (error as { code?: JsonValue }).code : undefined;
  return typeof code === "string" ? code : null;
}

function memberOf(body: WireRequest["body"], name: string): JsonValue | undefined {
  if (body === "too_large") return undefined;
  const parsed = parseBody(body);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value[name] : undefined;
}
