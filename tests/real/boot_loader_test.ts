// needs: root qemu-system-x86_64 mmdebstrap mcopy mkfs.vfat sfdisk objcopy cpio zstd mke2fs
/** The boot loader's port under its contract, on a real systemd-boot, its bootctl and a firmware's variables. */
import assert from "node:assert/strict";
import { bootLoaderContract, IMAGES } from "../contract/boot_loader_contract.ts";
import { type RealLoader, startRealLoader } from "./boot_loader/machine.ts";

const story: { loader?: RealLoader } = {};

Deno.test.beforeAll(async () => {
  story.loader = await startRealLoader();
});

Deno.test.afterAll(async () => await story.loader?.stop());

function theLoader(): RealLoader {
  assert.ok(story.loader, "the machine could not be started");
  return story.loader;
}

const FOLDER = "/boot/EFI/Linux";
const FALLBACK = "/boot/EFI/BOOT/BOOTX64.EFI";
const LOADER = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";
const COPY_LOADER = "mkdir -p /boot/EFI/systemd /boot/EFI/BOOT && " +
  `cp ${LOADER} /boot/EFI/systemd/ && cp ${LOADER} ${FALLBACK}`;

bootLoaderContract("real", async () => {
  const { vm, boot, breakNext } = theLoader();
  const asInstalled = "bootctl install && bootctl set-oneshot '' && bootctl set-default ''";
  await vm.run(`${asInstalled} && rm -f ${FOLDER}/pbx-1.1.0-*`);
  return {
    boot,
    put: async (name) =>
      void await vm.run(`cp ${FOLDER}/${IMAGES[1]} ${FOLDER}/${name} && sync`, 120_000),
    async ways({ firmwareEntry, fallbackLoader }) {
      await vm.run("bootctl install");
      // It takes the firmware's entry away, and the files too.
      if (!firmwareEntry) await vm.run(`bootctl remove && ${COPY_LOADER}`);
      if (!fallbackLoader) await vm.run(`rm ${FALLBACK}`);
    },
    breakNext: (how) => Promise.resolve(breakNext(how)),
    close: () => Promise.resolve(),
  };
});

Deno.test("boot (real): tells which image booted, with its hash", async () => {
  const { boot, booted } = theLoader();
  assert.deepEqual(await boot.booted(), { entry: booted.entry, sha256: booted.sha256 });
});
