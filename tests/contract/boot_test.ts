import assert from "node:assert/strict";
import { createFakeBoot } from "../../adapters/fake/boot.ts";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeBoot } from "../../adapters/node/boot.ts";
import type { BootedImage } from "../../core/ports/boot.ts";
import { bootContract, IMAGE_BYTES, SHA256_OF_IMAGE } from "./boot_contract.ts";

const clock = createNodeClock();
const GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const STUB = `/sys/firmware/efi/efivars/StubImageIdentifier-${GUID}`;
const LOADER = `/sys/firmware/efi/efivars/LoaderEntrySelected-${GUID}`;
const ENTRY = "pbx-1.4.0-amd64.efi";
const UKI = "\\EFI\\Linux\\pbx-1.4.0-amd64.efi";
const FILE = `/boot/EFI/Linux/${ENTRY}`;
const UNKNOWN: BootedImage = { entry: null, sha256: null };
const KNOWN: BootedImage = { entry: ENTRY, sha256: SHA256_OF_IMAGE };
const UNSURE: BootedImage = { entry: ENTRY, sha256: null };

type Files = Readonly<Record<string, string | Uint8Array>>;

bootContract("fake", (image) => Promise.resolve(createFakeBoot(image)));

bootContract("node", async ({ entry, sha256 }) => {
  const variable: Files = entry === null ? {} : { [LOADER]: efi(entry) };
  const image: Files = sha256 === null ? {} : { [FILE]: IMAGE_BYTES };
  return createNodeBoot({ disk: await diskWith({ ...variable, ...image }), clock });
});

async function diskWith(files: Files) {
  const disk = createFakeDisk();
  for (const [path, content] of Object.entries(files)) {
    await disk.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0o755);
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    assert.ok((await disk.write(path, bytes, 0o644)).ok);
  }
  return disk;
}

/** A variable as the kernel shows it. */
function efi(text: string, end = "\0"): Uint8Array {
  const units = Uint16Array.from(text + end, (unit) => unit.charCodeAt(0));
  return new Uint8Array([6, 0, 0, 0, ...new Uint8Array(units.buffer)]);
}

function cases(name: string, table: readonly (readonly [string, Files, BootedImage])[]): void {
  for (const [what, files, expected] of table) {
    Deno.test(`createNodeBoot: ${name}: ${what}`, async () => {
      const boot = createNodeBoot({ disk: await diskWith(files), clock });
      assert.deepEqual(await boot.booted(), expected);
    });
  }
}

cases("source", [
  ["stub and loader agree", { [STUB]: efi(UKI), [LOADER]: efi(ENTRY), [FILE]: "image" }, KNOWN],
  ["stub alone", { [STUB]: efi(UKI), [FILE]: "image" }, KNOWN],
  ["stub with slashes", { [STUB]: efi(UKI.replaceAll("\\", "/")), [FILE]: "image" }, KNOWN],
  ["case and counters do not count", {
    [STUB]: efi("\\EFI\\LINUX\\PBX-1.4.0-amd64+2-1.EFI"),
    [LOADER]: efi("pbx-1.4.0-AMD64+3.efi"),
    [FILE]: "image",
  }, KNOWN],
  ["stub and loader disagree", {
    [STUB]: efi(UKI),
    [LOADER]: efi("pbx-1.3.0-amd64.efi"),
    [FILE]: "image",
    "/boot/EFI/Linux/pbx-1.3.0-amd64.efi": "image",
  }, UNKNOWN],
  ["the fallback loader's image is no entry", {
    [STUB]: efi("\\EFI\\BOOT\\BOOTX64.EFI"),
    "/boot/EFI/BOOT/BOOTX64.EFI": "image",
  }, UNKNOWN],
  ["a stub outside the entries contradicts the loader", {
    [STUB]: efi("\\EFI\\BOOT\\BOOTX64.EFI"),
    [LOADER]: efi(ENTRY),
    [FILE]: "image",
  }, UNKNOWN],
  ["a loader entry that is a path is none", {
    [LOADER]: efi(`../Linux/${ENTRY}`),
    [FILE]: "image",
  }, UNKNOWN],
  ["a variable without an end is unreadable", {
    [STUB]: efi(UKI, ""),
    [LOADER]: efi(ENTRY),
    [FILE]: "image",
  }, UNSURE],
  ["a variable of half a character is unreadable", {
    [STUB]: efi(UKI).subarray(0, -1),
    [LOADER]: efi(ENTRY),
    [FILE]: "image",
  }, UNSURE],
]);

const VARIABLES = { [STUB]: efi(UKI), [LOADER]: efi(ENTRY) };
const BOOTED = { ...VARIABLES, [FILE]: "image" };

cases("os-release", [
  ["the same version", { ...BOOTED, "/etc/os-release": "ID=x\nIMAGE_VERSION=1.4.0\n" }, KNOWN],
  ["in quotes", { ...BOOTED, "/etc/os-release": 'IMAGE_VERSION="1.4.0"' }, KNOWN],
  ["another version", { ...BOOTED, "/etc/os-release": "IMAGE_VERSION=1.4" }, UNKNOWN],
  ["no version", { ...BOOTED, "/etc/os-release": "VERSION_ID=12\n" }, KNOWN],
  ["the vendor's file", { ...BOOTED, "/usr/lib/os-release": "IMAGE_VERSION=2.0.0" }, UNKNOWN],
  ["a version is mapped like the name", {
    [LOADER]: efi("pbx-1.4.0-rc1-k3s1-amd64.efi"),
    "/boot/EFI/Linux/pbx-1.4.0-rc1-k3s1-amd64.efi": "image",
    "/etc/os-release": "IMAGE_VERSION=1.4.0-RC1+k3s1",
  }, { entry: "pbx-1.4.0-rc1-k3s1-amd64.efi", sha256: SHA256_OF_IMAGE }],
  ["a name that is not ours", {
    [LOADER]: efi("debian-12.efi"),
    "/efi/EFI/Linux/debian-12.efi": "image",
    "/etc/os-release": "IMAGE_VERSION=12",
  }, { entry: "debian-12.efi", sha256: SHA256_OF_IMAGE }],
]);

cases("ESP", [
  ["/efi", { ...VARIABLES, [`/efi/EFI/Linux/${ENTRY}`]: "image" }, KNOWN],
  ["/boot/efi", { ...VARIABLES, [`/boot/efi/EFI/Linux/${ENTRY}`]: "image" }, KNOWN],
  ["names in another case", { ...VARIABLES, "/efi/efi/LINUX/PBX-1.4.0-AMD64.EFI": "image" }, KNOWN],
  [
    "a counter in the name",
    { ...VARIABLES, "/efi/EFI/Linux/pbx-1.4.0-amd64+3-1.efi": "image" },
    KNOWN,
  ],
  ["the same image in two places", { ...BOOTED, [`/efi/EFI/Linux/${ENTRY}`]: "image" }, KNOWN],
  ["two images of that name", { ...BOOTED, [`/efi/EFI/Linux/${ENTRY}`]: "other" }, UNSURE],
  ["only another image", { ...VARIABLES, "/boot/EFI/Linux/pbx-1.3.0-amd64.efi": "image" }, UNSURE],
  ["nothing of a machine without EFI", { [FILE]: "image" }, UNKNOWN],
]);

Deno.test("createNodeBoot: what the disk does not give is unknown", async () => {
  const disk = await diskWith(BOOTED);
  const denied = { code: "denied", path: "", message: "" } as const;
  const no = () => Promise.resolve({ ok: false, error: denied } as const);
  assert.deepEqual(await createNodeBoot({ disk: { ...disk, read: no }, clock }).booted(), UNKNOWN);
  assert.deepEqual(await createNodeBoot({ disk: { ...disk, list: no }, clock }).booted(), UNSURE);
  assert.deepEqual(await createNodeBoot({ disk: { ...disk, sha256: no }, clock }).booted(), UNSURE);
});
