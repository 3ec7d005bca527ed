import assert from "node:assert/strict";
import { createFakeBoot } from "../../adapters/fake/boot.ts";
import { createFakeLoader } from "../../adapters/fake/boot_loader.ts";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeBoot } from "../../adapters/node/boot.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { bootLoaderContract, IMAGES } from "./boot_loader_contract.ts";
import { efiText, installBootctl, statusParts, variablePath } from "./stub_bootctl.ts";
import { openStubHost } from "./stub_host.ts";

bootLoaderContract("fake", () => {
  const disk = createFakeDisk();
  const boot = createFakeLoader({ disk });
  const image = new TextEncoder().encode("UKI <end of image>");
  for (const name of IMAGES) boot.putImage(name, image);
  boot.powerOn();
  return Promise.resolve({
    boot,
    put: (name) => Promise.resolve(boot.putImage(name, image)),
    async ways({ firmwareEntry, fallbackLoader }) {
      boot.firmwareEntry = firmwareEntry;
      const path = "/boot/EFI/BOOT/BOOTX64.EFI";
      if (fallbackLoader) disk.put(path, "systemd-boot");
      else await disk.remove(path);
    },
    breakNext: (how) => Promise.resolve(boot.breakNext(how)),
    close: () => Promise.resolve(),
  });
});

for (const version of [252, 257] as const) {
  bootLoaderContract(`node, bootctl ${version}`, async () => {
    const host = await openStubHost();
    const { root } = host;
    await installBootctl(host, version);
    for (const name of IMAGES) await host.write(`/boot/EFI/Linux/${name}`, "image");
    const disk = createNodeDisk({ root });
    return {
      boot: createNodeBoot({ disk, root, clock: createNodeClock() }),
      put: (name) => host.write(`/boot/EFI/Linux/${name}`, "image"),
      async ways(ways) {
        for (const [name, text] of Object.entries(statusParts(version, ways))) {
          await host.write(`/usr/bin/${name}`, text);
        }
      },
      breakNext: (how) => host.write("/usr/bin/break", how),
      close: () => host.close(),
    };
  });
}

Deno.test("createNodeBoot: a machine without bootctl, and the fake of one", async () => {
  const host = await openStubHost();
  const clock = createNodeClock();
  const node = createNodeBoot({
    disk: createNodeDisk({ root: host.root }),
    root: host.root,
    clock,
  });
  for (const boot of [node, createFakeBoot()]) {
    for (const asked of [await boot.look(), await boot.setOneShot("a.efi")]) {
      assert.equal(asked.ok ? "" : asked.error.code, "missing");
    }
  }
  await host.close();
});

Deno.test("createNodeBoot: an ESP that is not mounted, and words that are no list, are told", async () => {
  const host = await openStubHost();
  const clock = createNodeClock();
  const boot = createNodeBoot({
    disk: createNodeDisk({ root: host.root }),
    root: host.root,
    clock,
  });
  const why = async () => {
    const view = await boot.look();
    return view.ok ? "" : view.error.message;
  };
  await host.program("/usr/bin/bootctl", 'echo "Couldn\'t find EFI system partition." >&2; exit 1');
  assert.match(await why(), /exit code 1: Couldn't find EFI system partition/);
  await host.program("/usr/bin/bootctl", 'case $1 in list) echo "[1, 2" ;; *) echo /boot ;; esac');
  await Deno.mkdir(`${host.root}/boot`);
  assert.match(await why(), /is no list of entries/);
  await host.close();
});

Deno.test("createNodeBoot: a bootctl that tells of entries alone is helped by the kernel and the ESP", async () => {
  const host = await openStubHost();
  const { root } = host;
  const boot = createNodeBoot({
    disk: createNodeDisk({ root }),
    root,
    clock: createNodeClock(),
  });
  const [image, older] = IMAGES;
  for (const name of IMAGES) await host.write(`/boot/EFI/Linux/${name}`, "image");
  const list = (text: string) =>
    host.program(
      "/usr/bin/bootctl",
      `case $1 in -p) echo /boot ;; list) ${text} ;; *) exit 1 ;; esac`,
    );
  const look = async () => {
    const view = await boot.look();
    assert.ok(view.ok, JSON.stringify(view));
    return view.value;
  };
  for (const text of [`echo '[{"id":"${image}"}]'`, "exit 1", "echo nothing", "true"]) {
    await list(text);
    const { entries } = await look();
    assert.deepEqual(
      entries.toSorted((a, b) => a.id < b.id ? 1 : -1),
      [image, older].map((id) => ({ id, path: `/boot/EFI/Linux/${id}` })),
      text,
    );
  }

  const global = (name: string) =>
    `/sys/firmware/efi/efivars/${name}-8be4df61-93ca-11d2-aa0d-00e098032b8c`;
  /** Of one file on one partition, as the kernel shows it. */
  const loadOption = (attributes: number, description: string, file: string) => {
    const path = efiText(file).subarray(4);
    return new Uint8Array([
      ...[7, 0, 0, 0, attributes, 0, 0, 0, path.length + 4, 0],
      ...efiText(description).subarray(4),
      ...[4, 4, path.length + 4, 0],
      ...path,
    ]);
  };
  const entry = async () => (await look()).firmwareEntry;
  assert.equal(await entry(), false, "nothing tells of one");
  await host.write(
    variablePath("LoaderImageIdentifier"),
    efiText("\\EFI\\systemd\\systemd-bootx64.efi"),
  );
  assert.equal(await entry(), true, "it was started by one");
  await host.write(global("Boot0002"), loadOption(1, "UEFI PXEv4", "\\EFI\\other\\shimx64.efi"));
  assert.equal(await entry(), false, "another");
  await host.write(global("Boot000A"), loadOption(0, "Linux Boot Manager", "\\x.efi"));
  assert.equal(await entry(), false, "not active");
  await host.write(global("Boot000A"), loadOption(1, "Linux Boot Manager", "\\x.efi"));
  assert.equal(await entry(), true, "by its name");
  await host.write(
    global("Boot000A"),
    loadOption(1, "Any", "\\EFI\\SYSTEMD\\SYSTEMD-BOOTX64.EFI"),
  );
  assert.equal(await entry(), true, "by its file");
  await host.write(global("BootOrder"), new Uint8Array([7, 0, 0, 0, 2, 0]));
  assert.equal(await entry(), false, "not in the order");
  await host.write(global("BootOrder"), new Uint8Array([7, 0, 0, 0, 2, 0, 10, 0]));
  assert.equal(await entry(), true, "in the order");
  await host.close();
});
