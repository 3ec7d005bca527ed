import type { Status } from "kubernetes-types/meta/v1";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { K8sError } from "../../core/ports/k8s.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";

const MAX_MESSAGE = 500;
/** Shorter values say nothing and stand in too many words. */
const MIN_SECRET = 4;

/**
 * What an answer that says no means: the API's own `reason` and message, where it sent a Status object.
 *
 * @param answer the parsed body; undefined where it is no JSON
 * @param action what was tried, for the message
 * @param sent the object that was sent: the API quotes values in its messages, and those of a Secret
 * must not get into a log (protocol §2)
 */
export function refusal(
  status: number,
  answer: JsonValue | undefined,
  action: string,
  sent: JsonObject | null,
): K8sError {
  // Not trusted to be what the type says: whatever answers on that port may have sent it.
  const { reason, message }: { readonly [Key in keyof Status]?: unknown } = isJsonObject(answer)
    ? answer
    : {};
  const said = typeof message === "string" ? withoutSecrets(message, sent) : "no explanation";
  return {
    code: "refused",
    status,
    reason: typeof reason === "string" ? reason.slice(0, MAX_MESSAGE) : "",
    message: `${action}: ${status}: ${said.slice(0, MAX_MESSAGE)}`,
  };
}

function withoutSecrets(message: string, sent: JsonObject | null): string {
  if (sent === null || sent["kind"] !== "Secret") return message;
  const values = ["data", "stringData"]
    .flatMap((key) => isJsonObject(sent[key]) ? Object.values(sent[key]) : [])
    .flatMap((value) => typeof value === "string" ? [value, decoded(value)] : [])
    .filter((value) => value.length >= MIN_SECRET);
  return values.reduce((text, value) => text.replaceAll(value, "[secret]"), message);
}

function decoded(value: string): string {
  const bytes = decodeBase64(value);
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}
