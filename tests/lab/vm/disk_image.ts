import { join } from "node:path";
import { mustRun } from "../command.ts";
import type { VmParts } from "./parts.ts";

const MEBIBYTE = 1024 * 1024;
/** The ESP begins here, MiB from the disk's beginning. */
const ESP_START = 1;
const ESP_TYPE = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
const LINUX_TYPE = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";

/** A disk of a machine: an ESP with systemd-boot, and a state partition. */
export interface DiskOptions {
  readonly file: string;
  readonly espMebibytes: number;
  readonly stateMebibytes: number;
  /** Folder with what the state partition holds. */
  readonly state: string;
}

/** Makes a disk without mounting anything; the file is sparse. */
export async function makeDisk(parts: VmParts, options: DiskOptions): Promise<EspFiles> {
  const { file, espMebibytes, stateMebibytes, state } = options;
  const stateStart = ESP_START + espMebibytes;
  await Deno.writeFile(file, new Uint8Array());
  await Deno.truncate(file, (stateStart + stateMebibytes + 1) * MEBIBYTE);
  const table = [
    "label: gpt",
    `start=${ESP_START}MiB, size=${espMebibytes}MiB, type=${ESP_TYPE}, name=ESP`,
    `start=${stateStart}MiB, size=${stateMebibytes}MiB, type=${LINUX_TYPE}, name=state`,
  ];
  await mustRun("sfdisk", ["--quiet", file], { stdin: `${table.join("\n")}\n` });
  const offset = String(ESP_START * MEBIBYTE / 512);
  const blocks = String(espMebibytes * 1024);
  await mustRun("mkfs.vfat", [
    "-F",
    "32",
    "-s",
    "2",
    "-n",
    "ESP",
    "--offset",
    offset,
    file,
    blocks,
  ]);
  const extended = `offset=${stateStart * MEBIBYTE},lazy_itable_init=1,nodiscard`;
  await mustRun("mke2fs", [
    ...["-q", "-t", "ext4", "-F", "-m", "0", "-L", "state", "-d", state, "-E", extended],
    ...[file, `${stateMebibytes}M`],
  ]);
  const esp = espFiles(file);
  for (const folder of ["EFI", "EFI/BOOT", "EFI/Linux", "EFI/systemd", "loader"]) {
    await mustRun("mmd", ["-i", esp.drive, `::${folder}`]);
  }
  await esp.write(parts.loader, "EFI/BOOT/BOOTX64.EFI");
  await esp.write(parts.loader, "EFI/systemd/systemd-bootx64.efi");
  return esp;
}

/** The ESP of a disk whose machine is off. */
export interface EspFiles {
  /** As mtools names it. */
  readonly drive: string;
  write(from: string, path: string): Promise<void>;
  /** The same from memory. */
  put(path: string, bytes: Uint8Array): Promise<void>;
  read(path: string): Promise<Uint8Array>;
}

function espFiles(file: string): EspFiles {
  const drive = `${file}@@${ESP_START}M`;
  const write = async (from: string, path: string) =>
    void await mustRun("mcopy", ["-o", "-i", drive, from, `::${path}`]);
  return {
    drive,
    write,
    put: (path, bytes) =>
      inFolder(async (folder) => {
        await Deno.writeFile(join(folder, "file"), bytes);
        await write(join(folder, "file"), path);
      }),
    read: (path) =>
      inFolder(async (folder) => {
        await mustRun("mcopy", ["-i", drive, `::${path}`, join(folder, "file")]);
        return await Deno.readFile(join(folder, "file"));
      }),
  };
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "pbx-esp-" });
  try {
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
