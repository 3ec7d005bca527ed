import assert from "node:assert/strict";
import { createFakeBoot } from "../../adapters/fake/boot.ts";
import { createFakeLoader } from "../../adapters/fake/boot_loader.ts";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeBoot } from "../../adapters/node/boot.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { bootLoaderContract, IMAGES } from "./boot_loader_contract.ts";
import { installBootctl, statusParts } from "./stub_bootctl.ts";
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
