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
/** The firmware's own variables, among them its entries. */
const FIRMWARE = "/sys/firmware/efi/efivars";
const FALLBACK = "/boot/EFI/BOOT/BOOTX64.EFI";

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
      if (!fallbackLoader) await vm.run(`rm ${FALLBACK}`);
      if (!firmwareEntry) await vm.run(REMOVE_ENTRY);
    },
    breakNext: (how) => Promise.resolve(breakNext(how)),
    close: () => Promise.resolve(),
  };
});

/** Removes the firmware's entry of systemd-boot, which says so in UTF-16. */
const REMOVE_ENTRY = `for entry in ${FIRMWARE}/Boot0*; do
  tr -d '\\000' <$entry | grep -q 'Linux Boot Manager' || continue
  chattr -i $entry && rm $entry
done`;

Deno.test("boot (real): tells which image booted, with its hash", async () => {
  const { boot, booted } = theLoader();
  assert.deepEqual(await boot.booted(), { entry: booted.entry, sha256: booted.sha256 });
});
