import assert from "node:assert/strict";
import {
  RETURN_MARK_FILE,
  RETURN_TIMER,
  SYSTEMD_DIRECTORY,
  UPGRADE_FILE,
} from "../../../core/state/paths.ts";
import { type CutCase, type Outcome, runCut } from "./cut_matrix.ts";
import {
  type Behaviour,
  createUpgradeMachine,
  FROM,
  FROM_ENTRY,
  K3S,
  OLDER_ENTRY,
  openUpgradeAgent,
  TO,
  TO_ENTRY,
  type UpgradeMachine,
} from "./upgrade_world.ts";

function upgrading(
  setUp: () => UpgradeMachine,
  assertEnd: (machine: UpgradeMachine, outcome: Outcome) => void | Promise<void>,
): CutCase<UpgradeMachine> {
  return {
    setUp,
    offer: () => ({ id: "op_up", kind: "cluster.upgrade", params: { release: TO } }),
    open: openUpgradeAgent,
    mayEnd: ["succeeded", "failed"],
    assertEnd,
  };
}

const images = ({ disk }: UpgradeMachine) =>
  disk.paths().filter((path) => path.startsWith("/boot/EFI/Linux/")).map((path) => path.slice(16));

function assertDisarmed({ disk, systemd }: UpgradeMachine): void {
  for (const path of [RETURN_MARK_FILE, `${SYSTEMD_DIRECTORY}/${RETURN_TIMER}`]) {
    assert.equal(disk.text(path), null, path);
  }
  assert.notEqual(systemd.units.get(RETURN_TIMER)?.state, "active");
}

Deno.test("cluster.upgrade: a good image is staged, started once, proven, and becomes the default", async () => {
  await runCut(
    upgrading(() => createUpgradeMachine(), (machine, { result, journal }) => {
      assert.deepEqual(result, {
        state: "succeeded",
        output: { from: FROM, to: TO, boot_entry: TO_ENTRY },
      });
      assert.deepEqual(machine.boots, [FROM_ENTRY, TO_ENTRY]);
      assert.equal(machine.loader.variables.get("LoaderEntryDefault"), TO_ENTRY);
      assert.deepEqual(images(machine), [FROM_ENTRY, TO_ENTRY], `${OLDER_ENTRY} is dropped`);
      assertDisarmed(machine);
      assert.equal(machine.disk.text(UPGRADE_FILE), null);
      const snapshot = machine.k3s.runs;
      assert.deepEqual(snapshot, ["save pbx-pre-upgrade-1.1.0"]);
      assert.deepEqual(journal.steps.map(({ name }) => name), [
        ...["preflight", "pre_snapshot", "fetch_image", "stage_slot", "reboot", "reboot"],
        ...["health_gate", "commit"],
      ]);
    }),
    null,
  );
});

const BAD: readonly (readonly [Behaviour, string, RegExp])[] = [
  ["panics", "fell_back", /did not come up/],
  ["hangs", "fell_back", /did not come up/],
  ["no_agent", "gate_failed", /the agent did not run there/],
  ["no_api", "gate_failed", /in 2 minutes: the Kubernetes API's \/readyz does not say 200/],
  ["not_ready", "gate_failed", /Node demo-1 is not Ready/],
  ["old_k3s", "gate_failed", new RegExp(`runs k3s ${K3S[FROM]?.replace("+", "\\+")} and not`)],
  ["no_deployment", "gate_failed", /Deployment kube-system\/coredns is not available/],
];
for (const [behaviour, code, why] of BAD) {
  Deno.test(`cluster.upgrade: an image that ${behaviour} ends in the old one, as it was`, async () => {
    await runCut(
      upgrading(() => createUpgradeMachine([behaviour]), (machine, { result }) => {
        assert.deepEqual([result.state, result.step, result.code], ["failed", "health_gate", code]);
        assert.match(String(result.message), why);
        assert.match(
          String(result.message),
          /runs pbx-1\.0\.0-amd64\.efi \(release 1\.0\.0\) as before/,
        );
        assert.deepEqual(machine.boots, [FROM_ENTRY, TO_ENTRY, FROM_ENTRY]);
        assert.equal(machine.loader.variables.get("LoaderEntryDefault"), FROM_ENTRY);
        assert.deepEqual(images(machine), [OLDER_ENTRY, FROM_ENTRY]);
        assertDisarmed(machine);
      }),
      null,
    );
  });
}
