import * as z from "zod";
import { isJsonObject } from "../json.ts";
import { DnsLabel, LabelValue } from "../protocol/identifiers.ts";
import { fail, ok, type Result } from "../result.ts";
import { Secret } from "../secret.ts";
import { accountName, accountRef, grantObjects } from "./access/grant.ts";
import { kubeconfig } from "./access/kubeconfig.ts";
import { onceUp } from "./api_is_up.ts";
import { defineOperation, type StepTools } from "./definition.ts";
import { lookFor } from "./look_for.ts";
import { Recipient, sealFor } from "./recipient.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({
  person: LabelValue,
  role: z.enum(["view", "edit", "admin", "cluster-admin"]),
  namespace: DnsLabel.optional(),
  lifetime_s: z.int().min(600).max(86_400),
  recipient: Recipient,
}).refine((params) => params.role !== "cluster-admin" || params.namespace === undefined, {
  path: ["namespace"],
  message: "does not go with the role cluster-admin",
}).transform(({ namespace, ...params }) => ({
  ...params,
  ...(namespace === undefined ? {} : { namespace }),
}));

/**
 * How long Kubernetes may take to publish its certificate authority, milliseconds: its controller does so some
 * seconds after the API is up, and after a restore from an early snapshot too.
 */
const AUTHORITY_MS = 120_000;

/** The certificate authority that every namespace is given by Kubernetes. */
const CLUSTER_CA = {
  apiVersion: "v1",
  resource: "configmaps",
  namespace: "kube-system",
  name: "kube-root-ca.crt",
} as const;

/**
 * Gives a person access for some hours: a ServiceAccount with one role and a token, as a kubeconfig
 * that only the key of whoever asked opens.
 */
export const accessIssue = defineOperation({
  kind: "access.issue",
  params: Params,
  needsApi: true,
  steps: {
    ensure_sa: {
      timeoutMs: TIMEOUT_MS.kubernetes,
      async run(tools) {
        const { params, ports, say } = tools;
        for (const { ref, object } of grantObjects(params)) {
          const applied = await onceUp(tools, () => ports.k8s.apply(ref, object));
          if (!applied.ok) {
            return {
              kind: "failed",
              message: `${ref.resource}/${ref.name}: ${applied.error.message}`,
            };
          }
          await say(`${ref.resource}/${ref.name} is there`);
        }
        return {
          kind: "done",
          evidence: `ServiceAccount ${accountName(params)} has ${params.role}`,
        };
      },
    },

    token: {
      timeoutMs: TIMEOUT_MS.kubernetes,
      handsSecret: true,
      async run(tools) {
        const { params, ports, secrets } = tools;
        const request = {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: { expirationSeconds: params.lifetime_s },
        };
        const account = accountRef(accountName(params));
        const answer = await onceUp(tools, () => ports.k8s.create(account, request, "token"));
        if (!answer.ok) return { kind: "failed", message: `no token: ${answer.error.message}` };
        const status = answer.value["status"];
        const token = isJsonObject(status) ? status["token"] : undefined;
        const expires = isJsonObject(status) ? status["expirationTimestamp"] : undefined;
        if (typeof token !== "string" || typeof expires !== "string") {
          return {
            kind: "failed",
            message: "the API answered the request for a token without one",
          };
        }
        secrets.set("token", new Secret(token));
        return { kind: "done", handed: { expires_at: expires }, evidence: `it ends ${expires}` };
      },
    },

    seal: {
      timeoutMs: TIMEOUT_MS.kubernetes,
      async run(tools) {
        const { params, ports, secrets, node } = tools;
        const token = secrets.get("token");
        if (token === undefined) throw new Error("the step before hands on the token");
        const authority = await readAuthority(tools);
        if (!authority.ok) {
          return {
            kind: "failed",
            message: `ConfigMap kube-system/kube-root-ca.crt: ${authority.error}`,
          };
        }
        const config = kubeconfig({
          cluster: node.binding.cluster_id,
          server: node.apiUrl,
          caPem: authority.value,
          token,
          ...(params.namespace === undefined ? {} : { namespace: params.namespace }),
        });
        const bytes = new TextEncoder().encode(config.reveal());
        const sealed = sealFor(params.recipient, bytes, ports.random);
        return { kind: "done", handed: { sealed_kubeconfig: sealed } };
      },
    },
  },
  output: ({ sealed_kubeconfig, expires_at }) => ({
    sealed_kubeconfig: sealed_kubeconfig ?? null,
    expires_at: expires_at ?? null,
  }),
});

/** The cluster's certificate authority, PEM. Waits a while for Kubernetes to publish it. */
async function readAuthority<P>(tools: StepTools<P>): Promise<Result<string, string>> {
  const read = async (): Promise<Result<string, string> | null> => {
    const found = await onceUp(tools, () => tools.ports.k8s.get(CLUSTER_CA));
    if (!found.ok) return fail(found.error.message);
    const data = found.value?.["data"];
    const pem = isJsonObject(data) ? data["ca.crt"] : undefined;
    return typeof pem === "string" ? ok(pem) : null;
  };
  return await lookFor(tools, "ConfigMap kube-system/kube-root-ca.crt", AUTHORITY_MS, read) ??
    fail("is not there");
}
