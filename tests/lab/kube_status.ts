import assert from "node:assert/strict";
import { withoutProxyVariables } from "../../adapters/node/http_clients.ts";
import { parseKubeconfig } from "../../adapters/node/kubeconfig.ts";
import { objectPath } from "../../core/cluster/object_path.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ObjectRef } from "../../core/ports/k8s.ts";
import type { KubeApi } from "./kube_api.ts";

/** Writes the `status` of an object on a real API server, as the kubelet or a controller would. */
export async function putStatus(api: KubeApi, ref: ObjectRef, status: JsonObject): Promise<void> {
  await kubeCall(api, "PATCH", `${objectPath(ref)}/status`, { status });
}

/** Takes a Pod away for good, as the kubelet does when its containers have ended. */
export async function finishPod(api: KubeApi, ref: ObjectRef): Promise<void> {
  await kubeCall(api, "DELETE", `${objectPath(ref)}`, { gracePeriodSeconds: 0 });
}

/** One call with the administrator's certificate; throws for an answer that says no. */
async function kubeCall(
  api: KubeApi,
  method: "PATCH" | "DELETE",
  path: string,
  body: JsonObject,
): Promise<void> {
  const access = parseKubeconfig(await Deno.readTextFile(api.kubeconfig));
  assert.ok(access.ok);
  const { server, authority, clientCertificate } = access.value;
  assert.ok(authority !== undefined && clientCertificate !== undefined);
  const client = withoutProxyVariables(() =>
    Deno.createHttpClient({
      http2: false,
      caCerts: [authority],
      cert: clientCertificate.cert,
      key: clientCertificate.key.reveal(),
    })
  );
  try {
    const response = await fetch(server + path, {
      method,
      client,
      headers: {
        "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  } finally {
    client.close();
  }
}
