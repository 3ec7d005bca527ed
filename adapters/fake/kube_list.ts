import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { type ApiAnswer, failure } from "./kube_status.ts";
import { at } from "../../core/cluster/live.ts";

/**
 * What a list answers to the parameters of its query: `labelSelector` (equality alone), `fieldSelector`
 * (of a Pod's `spec.nodeName`, and of names), `limit`, and `continue` from the page before.
 */
export function listPage(
  answer: ApiAnswer,
  query: Readonly<Record<string, string>>,
): ApiAnswer {
  if (typeof answer.body === "string" || !Array.isArray(answer.body["items"])) return answer;
  const [labels, fields] = [pairsOf(query["labelSelector"]), pairsOf(query["fieldSelector"])];
  const odd = fields.find(([key]) => !FIELDS.includes(key));
  if (odd !== undefined) {
    return failure(400, "BadRequest", `field label not supported: ${odd[0]}`);
  }
  const all = answer.body["items"].filter(isJsonObject).filter((object) =>
    labels.every(([key, value]) => labelsOf(object)[key] === value) &&
    fields.every(([key, value]) => (at(object, ...key.split(".")) ?? "") === value)
  );
  const from = Number(query["continue"] ?? 0);
  const to = from + Number(query["limit"] ?? all.length);
  const metadata = {
    ...(isJsonObject(answer.body["metadata"]) ? answer.body["metadata"] : {}),
    ...(to < all.length ? { continue: String(to) } : {}),
  };
  return { ...answer, body: { ...answer.body, metadata, items: all.slice(from, to) } };
}

const FIELDS = ["metadata.name", "metadata.namespace", "spec.nodeName"];

function pairsOf(selector = ""): readonly (readonly [string, string])[] {
  return selector.split(",").filter((pair) => pair !== "").map((pair) => {
    const [key = "", value = ""] = pair.split("=");
    return [key, value];
  });
}

function labelsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  const labels = isJsonObject(metadata) ? metadata["labels"] : undefined;
  return isJsonObject(labels) ? labels : {};
}
