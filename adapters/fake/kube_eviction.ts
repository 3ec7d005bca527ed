import { at } from "../../core/cluster/live.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Place } from "./kube_checks.ts";
import type { Kind } from "./kube_kinds.ts";
import { type ApiAnswer, failure } from "./kube_status.ts";
import type { KubeStore } from "./kube_store.ts";

/**
 * What the API does with an eviction: a Pod whose budget does not allow it stays (429), one with two
 * budgets cannot be evicted at all (500), any other is deleted with its grace period, so that it goes once
 * its kubelet says so. The budget's `status.disruptionsAllowed` is what counts, and goes down by one; the
 * controller that computes it is not played.
 */
export function evict(store: KubeStore, place: Place, asked: JsonObject | null): ApiAnswer {
  const found = store.get(place);
  if (found.status !== 200 || !isJsonObject(found.body)) return found;
  const pod = found.body;
  if (asked?.["kind"] !== "Eviction" || at(asked, "metadata", "name") !== place.name) {
    return failure(400, "BadRequest", "name in URL does not match name in Eviction object");
  }
  const uid = at(asked, "deleteOptions", "preconditions", "uid");
  if (uid !== undefined && uid !== at(pod, "metadata", "uid")) {
    const message = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ` +
      String(at(pod, "metadata", "uid"));
    return failure(409, "Conflict", message);
  }
  if (!isFreeToGo(pod)) {
    const refusal = useBudget(store, place, pod);
    if (refusal !== null) return refusal;
  }
  const isGraceful = at(pod, "spec", "nodeName") !== undefined && !isOver(pod);
  const removed = store.remove(place, {}, isGraceful);
  if (removed.status > 299) return removed;
  return { status: 201, body: { kind: "Status", apiVersion: "v1", status: "Success" } };
}

/** Whether no budget is asked: it has ended, never ran, or goes already. */
function isFreeToGo(pod: JsonObject): boolean {
  return isOver(pod) || at(pod, "status", "phase") === "Pending" ||
    at(pod, "metadata", "deletionTimestamp") !== undefined;
}

function isOver(pod: JsonObject): boolean {
  return ["Succeeded", "Failed"].includes(String(at(pod, "status", "phase")));
}

/** Takes one of the disruptions that the Pod's budget allows, or says why not. */
function useBudget(store: KubeStore, { namespace }: Place, pod: JsonObject): ApiAnswer | null {
  const kind = store.kindAt("policy/v1", "poddisruptionbudgets", true);
  if ("status" in kind) return kind;
  const budgets = itemsOf(store.list(kind, namespace)).filter((budget) => covers(budget, pod));
  if (budgets.length > 1) {
    const message = "This pod has more than one PodDisruptionBudget, which the eviction " +
      "subresource does not support.";
    return failure(500, "InternalError", message);
  }
  const [budget] = budgets;
  if (budget === undefined) return null;
  const allowed = Number(at(budget, "status", "disruptionsAllowed") ?? 0);
  if (allowed < 1) {
    const message = "Cannot evict pod as it would violate the pod's disruption budget.";
    return failure(429, "TooManyRequests", message);
  }
  writeAllowed(store, kind, budget, allowed - 1);
  return null;
}

function writeAllowed(store: KubeStore, kind: Kind, budget: JsonObject, allowed: number): void {
  const [name, namespace] = [at(budget, "metadata", "name"), at(budget, "metadata", "namespace")];
  const place = { kind, name: String(name), namespace: String(namespace) };
  const { apiVersion } = kind;
  const status = { ...budget["status"] as JsonObject, disruptionsAllowed: allowed };
  const metadata = { name: place.name, namespace: place.namespace };
  const config = { apiVersion, kind: kind.kind, metadata, status };
  store.apply(place, { config, manager: "kube-apiserver", force: true });
}

/** By `matchLabels` alone; a selector without any selects every Pod of the namespace. */
function covers(budget: JsonObject, pod: JsonObject): boolean {
  const wanted = at(budget, "spec", "selector", "matchLabels");
  return Object.entries(isJsonObject(wanted) ? wanted : {}).every(([key, value]) =>
    at(pod, "metadata", "labels", key) === value
  );
}

function itemsOf({ body }: ApiAnswer): readonly JsonObject[] {
  const items = typeof body === "string" ? undefined : body["items"];
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}
