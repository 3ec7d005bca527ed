import assert from "node:assert/strict";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeK8s } from "../../adapters/fake/k8s.ts";
import { startFakeK8sServer } from "../../adapters/fake/k8s_server.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeK8s } from "../../adapters/node/k8s.ts";
import { objectPath } from "../../core/cluster/object_path.ts";
import type { ObjectRef } from "../../core/ports/k8s.ts";
import { k8sContract } from "./k8s_contract.ts";

k8sContract("createFakeK8s", () => {
  const k8s = createFakeK8s();
  return Promise.resolve({
    k8s,
    namespace: "default",
    writeAs: (manager, ref, object) => Promise.resolve(k8s.write(pathOf(ref), object, manager)),
    close: () => Promise.resolve(),
  });
});

k8sContract("createNodeK8s on startFakeK8sServer", () => {
  const server = startFakeK8sServer();
  const disk = createFakeDisk();
  disk.put("/etc/rancher/k3s/k3s.yaml", server.kubeconfig);
  const k8s = createNodeK8s({ disk, clock: createNodeClock(), version: "1.2.3", pageSize: 2 });
  return Promise.resolve({
    k8s,
    namespace: "default",
    writeAs: (manager, ref, object) => Promise.resolve(server.write(pathOf(ref), object, manager)),
    close: async () => {
      k8s.close();
      await server.stop();
    },
  });
});

function pathOf(ref: ObjectRef): string {
  const path = objectPath(ref);
  assert.ok(path !== null);
  return path;
}
