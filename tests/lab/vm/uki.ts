import { join } from "node:path";
import { mustRun } from "../command.ts";
import type { Kernel, VmParts } from "./parts.ts";

/** What an image is made of. */
export interface UkiOptions {
  readonly kernel: Kernel;
  /** Whole, compressed. */
  readonly initrd: string;
  readonly commandLine: string;
  /** Text of the image's os-release. */
  readonly osRelease: string;
  /** Where the image goes. */
  readonly output: string;
}

const PAGE = 0x1000;

/**
 * Joins the stub, a kernel and an initrd into one image that systemd-boot starts. The sections lie
 * behind the stub's own, each on a page of its own, the kernel last: it needs room behind it.
 */
export async function makeUki({ stub }: VmParts, options: UkiOptions): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "pbx-uki-" });
  try {
    const texts = {
      osrel: options.osRelease,
      cmdline: options.commandLine,
      uname: options.kernel.release,
    };
    const sections: [string, string][] = [];
    for (const [name, text] of Object.entries(texts)) {
      await Deno.writeTextFile(join(work, name), text);
      sections.push([name, join(work, name)]);
    }
    sections.push(["initrd", options.initrd], ["linux", options.kernel.file]);
    let address = await endOfSections(stub);
    const args: string[] = [];
    for (const [name, file] of sections) {
      args.push(`--add-section=.${name}=${file}`);
      args.push(`--change-section-vma=.${name}=0x${address.toString(16)}`);
      address = aligned(address + (await Deno.stat(file)).size);
    }
    await mustRun("objcopy", [...args, stub, options.output]);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** The first page behind the sections of a program. */
async function endOfSections(program: string): Promise<number> {
  const headers = await mustRun("objdump", ["--section-headers", program]);
  const rows = headers.matchAll(/^\s*\d+ \.\S+\s+([0-9a-f]{8})\s+([0-9a-f]{8,16})/gm);
  const ends = [...rows].map(([, size = "", at = ""]) => parseInt(size, 16) + parseInt(at, 16));
  return aligned(Math.max(...ends));
}

function aligned(address: number): number {
  return Math.ceil(address / PAGE) * PAGE;
}
