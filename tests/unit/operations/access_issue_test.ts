import assert from "node:assert/strict";
import { parse } from "yaml";
import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";
import { openSealed, sealingPublicKey } from "../../../core/protocol/sealing.ts";
import { Secret } from "../../../core/secret.ts";
import type { JsonObject } from "../../../core/json.ts";
import { cutMatrix, runCut } from "./cut_matrix.ts";
import { createMachine, type Machine } from "./machine.ts";

const RECIPIENT_SECRET = new Secret(new Uint8Array(32).fill(9));
const RECIPIENT = { secretKey: RECIPIENT_SECRET, publicKey: sealingPublicKey(RECIPIENT_SECRET) };

function withAuthority(): Machine {
  const machine = createMachine();
  machine.k8s.write("/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "kube-root-ca.crt", namespace: "kube-system" },
    data: { "ca.crt": "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n" },
  }, "root-ca-cert-publisher");
  return machine;
}

function offer(params: JsonObject = {}) {
  return {
    id: "issue-1",
    kind: "access.issue",
    params: {
      person: "ada",
      role: "edit",
      namespace: "default",
      lifetime_s: 3_600,
      recipient: encodeBase64(RECIPIENT.publicKey),
      ...params,
    },
  };
}

Deno.test("access.issue: killed at every call, the next process ends it", async () => {
  const cuts = await cutMatrix({
    setUp: withAuthority,
    offer: () => offer(),
    assertEnd(_machine, { result }) {
      const sealed = String(result.output?.["sealed_kubeconfig"]);
      const opened = openSealed(sealed, [RECIPIENT]);
      assert.ok(opened.ok);
      assert.equal(parse(opened.value.reveal()).contexts[0].context.namespace, "default");
    },
  });
  assert.ok(cuts > 50, String(cuts));
});
