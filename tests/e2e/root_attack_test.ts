import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import { pause } from "./wait.ts";
import { CYCLE_S, inWorld } from "./world.ts";

/** With it a Pod of the attacker's would be root on the host within seconds. */
const ROOT_POD = `apiVersion: v1
kind: Pod
metadata: { name: root, namespace: kube-system }
spec:
  hostPID: true
  containers:
    - { name: root, image: busybox, securityContext: { privileged: true } }
`;
const MANIFESTS = [
  { name: "attack-rights", content: "apiVersion: v1\nkind: Namespace\nmetadata: { name: a }\n" },
  { name: "attack-pod", content: ROOT_POD },
];
const ARGUMENTS = { "kube-apiserver-arg": ["authorization-mode=AlwaysAllow"] };

/** The program with and without release keys. */
const ENTRIES = [["cli/lab.ts", true], ["cli/main.ts", false]] as const;

for (const [entry, hasKeys] of ENTRIES) {
  Deno.test(`root attack: a hostile portal gets nothing to k3s, ${entry}`, async () => {
    const attacks: [JsonObject, string][] = [
      [{ k3s: { config: ARGUMENTS }, manifests: MANIFESTS }, "k3s_config_refused"],
      [{ manifests: MANIFESTS }, "unsigned_manifest"],
    ];
    for (const [merge, code] of attacks) {
      await inWorld(async (world) => {
        world.fault({ match: { path: "/enroll" }, count: null, action: { merge } });
        const agent = world.start({ entry });
        await agent.event(code);
        await pause(CYCLE_S * 3_000);
        const text = (path: string) => Deno.readTextFile(`${world.root}${path}`).catch(() => "");
        const config = await text("/etc/rancher/k3s/config.yaml");
        assert.doesNotMatch(config, /apiserver/);
        // Without keys the manifests alone are left out, and k3s starts.
        const starts = !hasKeys && code === "unsigned_manifest";
        assert.equal(config !== "", starts);
        assert.equal(/enrollment_token/.test(await text("/etc/pbx-agent/config.yaml")), !starts);
        for (const { name } of MANIFESTS) {
          assert.equal(await text(`/var/lib/rancher/k3s/server/manifests/pbx-${name}.yaml`), "");
        }
        await agent.stop();
      });
    }
  });
}
