import assert from "node:assert/strict";
import { findPart } from "../../lab/parts.ts";

async function folderWith(name: string, mode: number): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-parts-" });
  await Deno.writeTextFile(`${folder}/${name}`, "", { mode });
  return folder;
}

Deno.test("findPart: the lab's folder first, then PATH; only what can be run", async () => {
  const lab = await folderWith("etcd", 0o755);
  const onPath = await folderWith("etcd", 0o755);
  const plainFile = await folderWith("etcd", 0o644);
  const path = `/nonexistent:${plainFile}:${onPath}`;
  assert.equal(await findPart("etcd", { lab, path }), `${lab}/etcd`);
  assert.equal(await findPart("etcd", { lab: plainFile, path }), `${onPath}/etcd`);
  assert.equal(await findPart("etcd", { lab: undefined, path }), `${onPath}/etcd`);
  for (const folder of [lab, onPath, plainFile]) await Deno.remove(folder, { recursive: true });
});

Deno.test("findPart: says what is missing, what for, and how to get it", async () => {
  const error = /kube-apiserver is missing.*the real Kubernetes API.*go install k8s\.io\/.*PBX_LAB/;
  await assert.rejects(findPart("kube-apiserver", { lab: "/nonexistent", path: "" }), error);
  await assert.rejects(findPart("k3s", { lab: undefined, path: undefined }), /PBX_LAB is not set/);
});
