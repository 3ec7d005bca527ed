import assert from "node:assert/strict";
import { fakeImage } from "../../../adapters/fake/boot_loader.ts";
import { partPath } from "../../../core/host/slots.ts";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import { fail, ok } from "../../../core/result.ts";
import { RELEASE_FILE, RETURN_MARK_FILE, UPGRADE_FILE } from "../../../core/state/paths.ts";
import { type PortCall, runCut } from "./cut_matrix.ts";
import { assertDisarmed, imagesOf, upgradeCase } from "./upgrade_case.ts";
import {
  type Behaviour,
  createUpgradeMachine,
  envelope,
  FROM,
  FROM_ENTRY,
  IMAGE,
  IMAGE_URL,
  K3S,
  OLDER_ENTRY,
  TO,
  TO_ENTRY,
  type UpgradeMachine,
} from "./upgrade_world.ts";

Deno.test("cluster.upgrade: a good image is staged, started once, proven, and becomes the default", async () => {
  await runCut(
    upgradeCase(() => createUpgradeMachine(), (machine, { result, journal }) => {
      assert.deepEqual(result, {
        state: "succeeded",
        output: { from: FROM, to: TO, boot_entry: TO_ENTRY },
      });
      assert.deepEqual(machine.boots, [FROM_ENTRY, TO_ENTRY]);
      assert.equal(machine.loader.variables.get("LoaderEntryDefault"), TO_ENTRY);
      assert.deepEqual(imagesOf(machine), [FROM_ENTRY, TO_ENTRY], `${OLDER_ENTRY} is dropped`);
      assertDisarmed(machine);
      assert.equal(machine.disk.text(UPGRADE_FILE), null);
      const bytes = journal.events.flatMap(({ progress }) =>
        progress === undefined ? [] : [progress]
      );
      assert.deepEqual(bytes, [{ done: IMAGE.length, total: IMAGE.length, unit: "bytes" }]);
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
      upgradeCase(() => createUpgradeMachine([behaviour]), (machine, { result }) => {
        assert.deepEqual([result.state, result.step, result.code], ["failed", "health_gate", code]);
        assert.match(String(result.message), why);
        assert.match(
          String(result.message),
          /runs pbx-1\.0\.0-amd64\.efi \(release 1\.0\.0\) as before/,
        );
        assert.deepEqual(machine.boots, [FROM_ENTRY, TO_ENTRY, FROM_ENTRY]);
        assert.equal(machine.loader.variables.get("LoaderEntryDefault"), FROM_ENTRY);
        assert.deepEqual(imagesOf(machine), [OLDER_ENTRY, FROM_ENTRY]);
        assertDisarmed(machine);
      }),
      null,
    );
  });
}

Deno.test("cluster.upgrade: killed while it clears up, it still says why it came back", async () => {
  for (const [behaviour, code] of [["panics", "fell_back"], ["no_agent", "gate_failed"]] as const) {
    const one = upgradeCase(() => createUpgradeMachine([behaviour]));
    const whole = await runCut(one, null);
    const isMark = ({ name, args }: PortCall) =>
      name === "disk.remove" && args[0] === RETURN_MARK_FILE;
    const call = whole.calls.findLastIndex(isMark) + 1;
    const { result } = await runCut(one, { call, moment: "after" });
    assert.deepEqual([result.code, result.message], [code, whole.result.message]);
  }
});

Deno.test("cluster.upgrade: in an image that is neither of both, people are told the way, and no timer runs", async () => {
  const { machine, result } = await ended(machineWith(({ ports, loader }) => {
    const { reboot } = ports.systemd;
    Object.assign(ports.systemd, {
      reboot() {
        loader.variables.delete("LoaderEntryOneShot");
        loader.variables.set("LoaderEntryDefault", OLDER_ENTRY);
        return reboot();
      },
    });
  }));
  assert.deepEqual([result.step, result.code], ["health_gate", "not_returned"]);
  assert.match(
    String(result.message),
    /but pbx-0\.9\.0.*`bootctl set-default pbx-1\.0\.0-amd64\.efi`/,
  );
  assertDisarmed(machine);
});

Deno.test("cluster.upgrade: a proven image is kept, be it that older ones cannot be dropped", async () => {
  const { machine, result } = await ended(machineWith(({ ports, loader }) => {
    const { look } = ports.boot;
    Object.assign(ports.boot, {
      look: () =>
        loader.variables.get("LoaderEntryDefault") === TO_ENTRY
          ? Promise.resolve(fail({ code: "failed", message: "bootctl timed out" } as const))
          : look(),
    });
  }));
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  assert.deepEqual(imagesOf(machine), [OLDER_ENTRY, FROM_ENTRY, TO_ENTRY]);
  assertDisarmed(machine);
});

Deno.test("cluster.upgrade: a proven image becomes the default, be it that the firmware refuses once", async () => {
  let refused = 0;
  const { machine, result } = await ended(machineWith(({ ports }) => {
    const { setDefault } = ports.boot;
    Object.assign(ports.boot, {
      setDefault(id: string | null) {
        if (id !== TO_ENTRY || refused > 0) return setDefault(id);
        refused += 1;
        return Promise.resolve(fail({ code: "failed", message: "bootctl timed out" } as const));
      },
    });
  }));
  assert.deepEqual([refused, result.state], [1, "succeeded"], JSON.stringify(result));
  assert.equal(machine.loader.variables.get("LoaderEntryDefault"), TO_ENTRY);
  assertDisarmed(machine);
});

Deno.test("cluster.upgrade: a record of the reboot that nobody can read is no reason for another one", async () => {
  for (
    const [behaviour, state, code] of [
      ["good", "succeeded", undefined],
      ["panics", "failed", "unclear"],
    ] as const
  ) {
    const { machine, result } = await ended(() => {
      const machine = createUpgradeMachine([behaviour]);
      const { reboot } = machine.ports.systemd;
      Object.assign(machine.ports.systemd, {
        reboot() {
          machine.disk.put(UPGRADE_FILE, "?");
          return reboot();
        },
      });
      return machine;
    });
    assert.deepEqual([result.state, result.code], [state, code], JSON.stringify(result));
    assert.deepEqual(machine.boots.slice(0, 2), [FROM_ENTRY, TO_ENTRY]);
    assert.equal(machine.boots.length, behaviour === "good" ? 2 : 3);
    assertDisarmed(machine);
    assert.equal(imagesOf(machine).includes(TO_ENTRY), behaviour === "good");
  }
});

Deno.test("cluster.upgrade: a truncated image sends the firmware to the fallback, and that to the old one", async () => {
  for (const version of [252, 262]) {
    const setUp = () => {
      const machine = createUpgradeMachine(["good"], { version });
      machine.losesImage = true;
      return machine;
    };
    await runCut(
      upgradeCase(setUp, (machine, { result }) => {
        assert.deepEqual([result.step, result.code], ["health_gate", "fell_back"]);
        assert.deepEqual(machine.boots, [FROM_ENTRY, FROM_ENTRY]);
        assert.equal(
          machine.loader.variables.get("LoaderImageIdentifier"),
          "/EFI/BOOT/BOOTX64.EFI",
        );
        assert.deepEqual(imagesOf(machine), [OLDER_ENTRY, FROM_ENTRY]);
      }),
      null,
    );
  }
});

Deno.test("cluster.upgrade: the gate has its time in a container too, whose uptime is its host's", async () => {
  for (const [behaviour, code] of [["good", undefined], ["not_ready", "gate_failed"]] as const) {
    const { result } = await ended(() => {
      const machine = createUpgradeMachine([behaviour]);
      const { clock, host, ports } = machine;
      const facts = async () => {
        const uptimeSeconds = 86_400 + Math.floor(clock.monotonic() / 1000);
        return { ...await host.facts(), uptimeSeconds };
      };
      Object.assign(ports.machine, { facts });
      return machine;
    });
    assert.equal(result.code, code, JSON.stringify(result));
  }
});

Deno.test("cluster.upgrade: after one that came back the next one works", async () => {
  const { machine } = await ended(() => createUpgradeMachine(["panics"]));
  machine.behaviours = ["good"];
  await machine.clock.advance(30_000);
  const state = JSON.parse(machine.disk.text("/var/lib/pbx-agent/state.json") ?? "");
  machine.disk.put("/var/lib/pbx-agent/state.json", JSON.stringify({ ...state, operation: null }));
  const again = await ended(() => machine, "op_again");
  assert.equal(again.result.state, "succeeded", JSON.stringify(again.result));
});

/** An upgrade to its end, in one go. */
async function ended(
  setUp: () => UpgradeMachine,
  id = "op_up",
): Promise<{ machine: UpgradeMachine; result: OperationResult }> {
  const box: { machine?: UpgradeMachine } = {};
  const one = upgradeCase(() => box.machine = setUp());
  const offer = (machine: UpgradeMachine) => ({ ...one.offer(machine), id });
  const { result } = await runCut({ ...one, offer, assertEnd() {} }, null);
  assert.ok(box.machine);
  return { machine: box.machine, result };
}

/** A machine with something wrong about it. */
function machineWith(change: (machine: UpgradeMachine) => void): () => UpgradeMachine {
  return () => {
    const machine = createUpgradeMachine();
    change(machine);
    return machine;
  };
}

/** It fails at a step before the reboot, and everything is as it was. */
async function assertUntouched(
  change: (machine: UpgradeMachine) => void,
  step: string,
  ...words: readonly RegExp[]
): Promise<void> {
  const { machine, result } = await ended(machineWith(change));
  assert.deepEqual([result.state, result.step], ["failed", step], JSON.stringify(result));
  for (const word of words) assert.match(String(result.message), word);
  assert.deepEqual(machine.boots, [FROM_ENTRY]);
  assert.ok(!machine.systemd.calls.includes("reboot") || step === "reboot");
  assert.equal(machine.loader.variables.get("LoaderEntryOneShot"), undefined);
  assert.equal(machine.disk.text(`/boot/EFI/Linux/${FROM_ENTRY}`)?.length, fakeImage(FROM).length);
  assertDisarmed(machine);
}

Deno.test("cluster.upgrade: the preflight tells everything that is against it at once", async () => {
  await assertUntouched(
    ({ loader, ports, k3s, s3, disk }) => {
      loader.firmwareEntry = false;
      loader.espBytes = 400;
      loader.variables.set("LoaderEntryDefault", OLDER_ENTRY);
      void disk.remove("/boot/EFI/BOOT/BOOTX64.EFI");
      disk.put(RELEASE_FILE, envelope({ k3s_version: "v1.39.0+k3s1" }));
      Object.assign(ports.k8s, { ready: () => Promise.resolve(false) });
      k3s.install("v1.36.3+k3s1");
      s3.faults.unreachable = "refused";
    },
    "preflight",
    /^nothing was changed: \d things are against it: /,
    /one minor version at a time, and v1\.36\.3\+k3s1 to v1\.39\.0\+k3s1 is more/,
    /the default is pbx-0\.9\.0-amd64\.efi, not pbx-1\.0\.0-amd64\.efi/,
    /the firmware has no active entry for systemd-boot/,
    /systemd-boot is not in EFI\/BOOT/,
    /the ESP \(\/boot\) has no room for the new image beside those that stay: \d+ bytes/,
    /the Kubernetes API does not answer/,
    /the snapshot before the upgrade cannot go to the bucket/,
  );
});

Deno.test("cluster.upgrade: a release that is not signed, or has no image, is none", async () => {
  await assertUntouched(
    ({ disk }) => disk.put(RELEASE_FILE, envelope().replace(/"sig":"../, '"sig":"AA')),
    "preflight",
    /release 1\.1\.0: /,
  );
  await assertUntouched(
    ({ disk }) => disk.put(RELEASE_FILE, envelope({ artifacts: {} })),
    "preflight",
    /release 1\.1\.0 has no image for amd64/,
  );
});

Deno.test("cluster.upgrade: an image with the wrong bytes never gets a name", async () => {
  const wrong = IMAGE.slice();
  wrong[4] = 0x21;
  await assertUntouched(
    ({ artifacts }) => void artifacts.files.set(IMAGE_URL, wrong),
    "fetch_image",
    /SHA-256/,
  );
  await assertUntouched(
    ({ artifacts }) => void artifacts.files.set(IMAGE_URL, { status: 404 }),
    "fetch_image",
    /404/,
  );
});

Deno.test("cluster.upgrade: what the ESP does not give back as it was fetched never gets a name", async () => {
  await assertUntouched(
    ({ ports, disk }) => {
      const fetch = async (_artifact: unknown, path: string) => {
        await disk.write(path, IMAGE.slice(1), 0o777);
        return ok(undefined);
      };
      Object.assign(ports.artifacts, { fetch });
      disk.onCall((operation, path) => {
        assert.ok(!(operation === "rename" && path.startsWith("/boot")), "it got a name");
        return null;
      });
    },
    "stage_slot",
    /when it is read back: the image is not/,
  );
});

Deno.test("cluster.upgrade: a download that is cut is begun again until it is there", async () => {
  const { machine, result } = await ended(machineWith(({ artifacts, clock }) => {
    artifacts.files.set(IMAGE_URL, { cutAfter: 10, bytes: IMAGE });
    void clock.sleep(60_000).then(() => artifacts.files.set(IMAGE_URL, IMAGE));
  }));
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  assert.ok(machine.artifacts.asked.length > 3);
});

Deno.test("cluster.upgrade: an ESP that takes no more is told, and what was fetched of it goes", async () => {
  const { machine, result } = await ended(machineWith(({ disk }) => {
    disk.failNext("full", { operation: "write", path: partPath("/boot", TO_ENTRY) });
  }));
  assert.deepEqual([result.step, result.code], ["fetch_image", "esp_full"]);
  assert.deepEqual(imagesOf(machine), [OLDER_ENTRY, FROM_ENTRY]);
});

Deno.test("cluster.upgrade: a loader that does not keep what it is told ends it before the reboot", async () => {
  for (const how of ["failed", "not_set"] as const) {
    await assertUntouched(
      (machine) => {
        machine.loader.breakNext(how);
      },
      "stage_slot",
      /cannot be pinned as the default: the firmware does not do it/,
    );
  }
});

Deno.test("cluster.upgrade: a default that changes before the reboot ends it", async () => {
  await assertUntouched(
    ({ disk, loader }) =>
      disk.onCall((operation, path) => {
        const isNamed = operation === "rename" && path.endsWith(TO_ENTRY);
        if (isNamed) loader.variables.set("LoaderEntryDefault", OLDER_ENTRY);
        return null;
      }),
    "stage_slot",
    /the default must be pbx-1\.0\.0-amd64\.efi until the new image is proven, and is pbx-0\.9\.0/,
  );
});

Deno.test("cluster.upgrade: a node that does not go down runs on, with nothing armed", async () => {
  await assertUntouched(
    ({ ports, systemd }) =>
      Object.assign(ports.systemd, { reboot: () => Promise.resolve(ok(void systemd)) }),
    "reboot",
    /the old image runs on: the node was told to restart and did not/,
  );
});
