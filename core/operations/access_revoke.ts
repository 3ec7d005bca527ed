import * as z from "zod";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { CollectionRef } from "../ports/k8s.ts";
import { LabelValue } from "../protocol/identifiers.ts";
import { ACCESS_LABELS, ACCESS_NAMESPACE, PERSON_LABEL } from "./access/grant.ts";
import { onceUp } from "./api_is_up.ts";
import { defineOperation, type StepEnd, type StepTools } from "./definition.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({
  person: LabelValue.optional(),
  everyone: z.literal(true).optional(),
}).refine((params) => (params.person === undefined) !== (params.everyone === undefined), {
  path: ["person"],
  message: "or everyone: true must be there, and not both",
});
type Params = z.infer<typeof Params>;

const RBAC = "rbac.authorization.k8s.io/v1";

/** The accounts first: with one goes every token of it. The bindings after them give nobody anything. */
const ACCOUNTS: CollectionRef = {
  apiVersion: "v1",
  resource: "serviceaccounts",
  namespace: ACCESS_NAMESPACE,
};
const BINDINGS: readonly CollectionRef[] = [
  { apiVersion: RBAC, resource: "clusterrolebindings" },
  { apiVersion: RBAC, resource: "rolebindings" },
];

/** Takes back one person's access, or everyone's. What is gone already counts as done. */
export const accessRevoke = defineOperation({
  kind: "access.revoke",
  params: Params,
  needsApi: true,
  steps: {
    delete_sa: {
      timeoutMs: TIMEOUT_MS.kubernetes,
      async run(tools) {
        const { params, say, handed } = tools;
        const accounts = await removeAll(tools, ACCOUNTS, params);
        if (typeof accounts !== "number") return accounts;
        await say(`deleted ${accounts} ServiceAccounts`);
        for (const kind of BINDINGS) {
          const bindings = await removeAll(tools, kind, params);
          if (typeof bindings !== "number") return bindings;
          await say(`deleted ${bindings} ${kind.resource}`);
        }
        const before = typeof handed["deleted"] === "number" ? handed["deleted"] : 0;
        return { kind: "done", handed: { deleted: before + accounts } };
      },
    },
  },
  output: ({ deleted }) => ({ deleted: deleted ?? 0 }),
});

async function removeAll(
  tools: StepTools<Params>,
  kind: CollectionRef,
  { person }: Params,
): Promise<number | StepEnd> {
  const { k8s } = tools.ports;
  const labels = { ...ACCESS_LABELS, ...(person === undefined ? {} : { [PERSON_LABEL]: person }) };
  const found = await onceUp(tools, () => k8s.list(kind, labels));
  if (!found.ok) return { kind: "failed", message: `${kind.resource}: ${found.error.message}` };
  let removed = 0;
  for (const object of found.value ?? []) {
    const named = metadataOf(object);
    if (named === null) continue;
    const gone = await onceUp(tools, () => k8s.remove({ ...kind, ...named }));
    if (!gone.ok) {
      return { kind: "failed", message: `${kind.resource}/${named.name}: ${gone.error.message}` };
    }
    if (gone.value) removed++;
  }
  return removed;
}

function metadataOf(object: JsonObject): { name: string; namespace?: string } | null {
  const metadata = object["metadata"];
  if (!isJsonObject(metadata) || typeof metadata["name"] !== "string") return null;
  const { name, namespace } = metadata;
  return { name, ...(typeof namespace === "string" ? { namespace } : {}) };
}
