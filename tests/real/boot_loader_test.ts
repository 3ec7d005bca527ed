// needs: root qemu-system-x86_64 mmdebstrap mcopy mkfs.vfat sfdisk objcopy cpio zstd mke2fs
/** The boot loader's port under its contract, on a real systemd-boot, its bootctl and a firmware's variables. */
import assert from "node:assert/strict";
import { bootLoaderContract, IMAGES } from "../contract/boot_loader_contract.ts";
import { UNIT } from "../../cli/build/templates/unit.ts";
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

/** What the agent asks of bootctl, and the boot ID that it reads; the shell's words in one line. */
const IN_THE_SANDBOX = "bootctl -p && bootctl list --json=short >/run/list && " +
  `bootctl set-oneshot ${IMAGES[1]} && bootctl set-default ${IMAGES[0]} && ` +
  "touch /boot/EFI/Linux/probe && rm /boot/EFI/Linux/probe && " +
  "cat /proc/sys/kernel/random/boot_id && ! touch /usr/probe";

Deno.test("boot (real): the agent's unit lets bootctl see and set everything, and has the machine's own boot ID", async () => {
  const { vm } = theLoader();
  const probe = UNIT
    .replace("Type=exec", "Type=oneshot\nStandardOutput=truncate:/run/said\nStandardError=inherit")
    .replace(/^ExecStart=.*$/m, `ExecStart=/usr/bin/sh -c "${IN_THE_SANDBOX}"`)
    .replace("Restart=always\n", "");
  await vm.run(`mkdir -p /run/systemd/system && cat >/run/systemd/system/probe.service <<'END'
${probe}END
systemctl daemon-reload`);
  const bootId = (await vm.run("cat /proc/sys/kernel/random/boot_id")).trim();
  const said = await vm.run("systemctl start probe.service; code=$?; cat /run/said; echo $code");
  assert.match(said, new RegExp(`^/boot\n${bootId}\n.*Read-only file system\n0\n$`), said);
  const entries = await vm.run("cat /run/list");
  for (const image of IMAGES) assert.ok(entries.includes(`"id":"${image}"`), entries);
});
