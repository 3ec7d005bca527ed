import type { World } from "./world.ts";

/** What several parties say of a node that runs. */
export interface Witness {
  /** The version of the image whose first line is the last one on the serial console. */
  readonly serial: string;
  /** By the boot loader's variables, as the kernel shows them; null where they are not set. */
  readonly pinned: string | null;
  readonly oneShot: string | null;
  /** The images on the ESP by file name, each with its SHA-256. */
  readonly images: Readonly<Record<string, string>>;
  /** Whatever else is in the images' folder. */
  readonly others: readonly string[];
  /** Units of the return that are still there. */
  readonly returnUnits: readonly string[];
}

const GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/** Asks the machine itself, past the agent. */
export async function lookAt({ vm }: World): Promise<Witness> {
  const starts = vm.console.lines.flatMap((line) =>
    /^image: (\S+) starts after/.exec(line)?.[1] ?? []
  );
  const variable = async (name: string) => {
    const file = `/sys/firmware/efi/efivars/${name}-${GUID}`;
    const text = await vm.run(`[ ! -e ${file} ] || base64 -w 0 ${file}`);
    if (text === "") return null;
    const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-16le").decode(bytes.subarray(4)).replace(/\0+$/, "");
  };
  const names = (await vm.run("ls /boot/EFI/Linux")).split("\n").filter((name) => name !== "");
  const isImage = (name: string) => name.endsWith(".efi");
  const sums = await vm.run("cd /boot/EFI/Linux && sha256sum *.efi", 120_000);
  const units = await vm.run("ls /etc/systemd/system");
  return {
    serial: starts.at(-1) ?? "nothing",
    pinned: await variable("LoaderEntryDefault"),
    oneShot: await variable("LoaderEntryOneShot"),
    images: Object.fromEntries(
      sums.trim().split("\n").map((line) => line.split(/\s+/)).map(([sum, name]) => [name, sum]),
    ),
    others: names.filter((name) => !isImage(name)),
    returnUnits: units.split("\n").filter((name) => name.startsWith("pbx-agent-return")),
  };
}
