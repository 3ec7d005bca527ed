import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createNodeBoot } from "../../../adapters/node/boot.ts";
import { createNodeClock } from "../../../adapters/node/clock.ts";
import { createNodeDisk } from "../../../adapters/node/disk.ts";
import type { Boot } from "../../../core/ports/boot.ts";
import type { Disk } from "../../../core/ports/disk.ts";
import { ok } from "../../../core/result.ts";
import { IMAGES } from "../../contract/boot_loader_contract.ts";
import { makeDisk } from "../../lab/vm/disk_image.ts";
import { type Image, makeImage } from "../../lab/vm/image.ts";
import { vmParts } from "../../lab/vm/parts.ts";
import { layOutState } from "../../lab/vm/state_partition.ts";
import { createVm, type Vm } from "../../lab/vm/vm.ts";

const BOOTCTL = fileURLToPath(new URL("bootctl_main.ts", import.meta.url));

/** A machine that booted the first image of the contract, and the agent's port of its boot loader. */
export interface RealLoader {
  readonly vm: Vm;
  readonly boot: Boot;
  /** The image that booted. */
  readonly booted: Image;
  /** The next call that sets a variable fails, or does nothing. */
  breakNext(how: "failed" | "not_set"): void;
  stop(): Promise<void>;
}

/**
 * Boots a machine without an agent. The port's adapter runs here and its `bootctl` there, and so does
 * whatever it reads.
 */
export async function startRealLoader(): Promise<RealLoader> {
  const parts = await vmParts();
  const folder = await Deno.makeTempDir({ prefix: "pbx-loader-" });
  const state = join(folder, "state");
  await layOutState(state, []);
  const disk = join(folder, "disk");
  const esp = await makeDisk(parts, { file: disk, espMebibytes: 96, stateMebibytes: 16, state });
  const images: Image[] = [];
  for (const name of IMAGES) {
    const version = name.replace(/^pbx-(.*)-amd64\.efi$/, "$1");
    const image = await makeImage(folder, { version });
    await esp.write(image.file, `EFI/Linux/${image.entry}`);
    images.push(image);
  }
  const [booted] = images;
  if (booted === undefined) throw new Error("the contract has no images");
  const variables = join(folder, "variables");
  await Deno.copyFile(parts.firmware.variables, variables);
  const vm = createVm({ parts, disk, variables, folder });
  await vm.powerOn();
  await vm.run("bootctl install", 300_000);
  await vm.reboot();

  let broken: "failed" | "not_set" | null = null;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);

  async function answer(request: Request): Promise<Response> {
    const args: string[] = await request.json();
    if (args[0]?.startsWith("set-") === true && broken !== null) {
      const code = broken === "failed" ? 1 : 0;
      broken = null;
      return Response.json({ code, stdout: "" });
    }
    const words = args.map((word) => `'${word}'`).join(" ");
    const said = await vm.run(`bootctl ${words} 2>/dev/null; echo "exit $?"`);
    const [, stdout = "", code] = /^(.*)exit (\d+)\n$/s.exec(said) ?? [];
    return Response.json({ code: Number(code), stdout });
  }

  const root = join(folder, "root");
  await Deno.mkdir(join(root, "usr/bin"), { recursive: true });
  const script = `#!/bin/sh
exec ${Deno.execPath()} run --no-check --no-config --allow-net ${BOOTCTL} ${server.addr.port} "$@"
`;
  await Deno.writeTextFile(join(root, "usr/bin/bootctl"), script, { mode: 0o755 });
  return {
    vm,
    boot: createNodeBoot({ disk: diskOf(vm, root), root, clock: createNodeClock() }),
    booted,
    breakNext: (how) => broken = how,
    async stop() {
      await server.shutdown();
      await vm.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** The machine's file systems, for reading. */
function diskOf(vm: Vm, root: string): Disk {
  const printed = async (path: string, command: string) => {
    const said = await vm.run(`[ ! -e '${path}' ] || { echo there; ${command}; }`, 300_000);
    return said.startsWith("there\n") ? said.slice("there\n".length).trim() : null;
  };
  return {
    ...createNodeDisk({ root }),
    async read(path) {
      const base64 = await printed(path, `base64 -w 0 '${path}'`);
      if (base64 === null) return ok(null);
      return ok(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
    },
    async list(path) {
      const names = await printed(path, `ls '${path}'`);
      return ok(names?.split("\n").filter((name) => name !== "") ?? null);
    },
    sha256: async (path) => ok((await printed(path, `sha256sum '${path}'`))?.split(" ")[0] ?? null),
    freeBytes: async (path) => {
      const free = await vm.run(`df -k -P '${path}' | awk 'NR == 2 { print $4 }'`);
      return ok(Number(free) * 1024);
    },
  };
}
