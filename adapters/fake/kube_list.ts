import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { ApiAnswer } from "./kube_status.ts";

/**
 * What a list answers to the parameters of its query: `labelSelector` (equality alone), `limit`, and
 * `continue` from the page before.
 */
export function listPage(
  answer: ApiAnswer,
  query: Readonly<Record<string, string>>,
): ApiAnswer {
  if (typeof answer.body === "string" || !Array.isArray(answer.body["items"])) return answer;
  const wanted = (query["labelSelector"] ?? "").split(",").filter((pair) => pair !== "");
  const all = answer.body["items"].filter(isJsonObject).filter((object) =>
    wanted.every((pair) => {
      const [key = "", value = ""] = pair.split("=");
      return labelsOf(object)[key] === value;
    })
  );
  const from = Number(query["continue"] ?? 0);
  const to = from + Number(query["limit"] ?? all.length);
  const metadata = {
    ...(isJsonObject(answer.body["metadata"]) ? answer.body["metadata"] : {}),
    ...(to < all.length ? { continue: String(to) } : {}),
  };
  return { ...answer, body: { ...answer.body, metadata, items: all.slice(from, to) } };
}

function labelsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  const labels = isJsonObject(metadata) ? metadata["labels"] : undefined;
  return isJsonObject(labels) ? labels : {};
}
