import assert from "node:assert/strict";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeK8s } from "../../adapters/fake/k8s.ts";
import { startFakeK8sServer } from "../../adapters/fake/k8s_server.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeK8s } from "../../adapters/node/k8s.ts";
import type { KubeControls } from "../../adapters/fake/kube_api.ts";
import type { JsonObject } from "../../core/json.ts";
import { objectPath } from "../../core/cluster/object_path.ts";
import type { ObjectRef } from "../../core/ports/k8s.ts";
import { k8sContract, type K8sWorld } from "./k8s_contract.ts";
import { k8sDrainContract } from "./k8s_drain_contract.ts";

both("createFakeK8s", () => {
  const k8s = createFakeK8s();
  return Promise.resolve({
    k8s,
    namespace: "default",
    writeAs: (manager, ref, object) => Promise.resolve(k8s.write(pathOf(ref), object, manager)),
    setStatus: (ref, status) => Promise.resolve(setStatus(k8s, ref, status)),
    close: () => Promise.resolve(),
  });
});

both("createNodeK8s on startFakeK8sServer", () => {
  const server = startFakeK8sServer();
  const disk = createFakeDisk();
  disk.put("/etc/rancher/k3s/k3s.yaml", server.kubeconfig);
  const k8s = createNodeK8s({ disk, clock: createNodeClock(), version: "1.2.3", pageSize: 2 });
  return Promise.resolve({
    k8s,
    namespace: "default",
    writeAs: (manager, ref, object) => Promise.resolve(server.write(pathOf(ref), object, manager)),
    setStatus: (ref, status) => Promise.resolve(setStatus(server, ref, status)),
    close: async () => {
      k8s.close();
      await server.stop();
    },
  });
});

/** All that is asked of the port, on one adapter. */
function both(name: string, open: () => Promise<K8sWorld>): void {
  k8sContract(name, open);
  k8sDrainContract(name, open);
}

function setStatus(api: KubeControls, ref: ObjectRef, status: JsonObject): void {
  const { apiVersion, kind, metadata } = api.read(pathOf(ref)) ?? {};
  const { name, namespace } = metadata as { name: string; namespace: string };
  const object = { apiVersion: apiVersion ?? "", kind: kind ?? "", status };
  api.write(pathOf(ref), { ...object, metadata: { name, namespace } }, "kubelet");
}

function pathOf(ref: ObjectRef): string {
  const path = objectPath(ref);
  assert.ok(path !== null);
  return path;
}
