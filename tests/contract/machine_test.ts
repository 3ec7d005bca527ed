import assert from "node:assert/strict";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeMachine } from "../../adapters/fake/machine.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { withKernelFiles } from "../../adapters/node/kernel_files.ts";
import { createNodeMachine } from "../../adapters/node/machine.ts";
import { createFilesMachine } from "../../adapters/node/machine_files.ts";
import { machineContract } from "./machine_contract.ts";

const BOOT_ID = "5cc31d0c-2f6b-4a5e-9c0d-3a1f7b8e9d01";
const clock = createNodeClock();

machineContract("fake", () => {
  const machine = createFakeMachine({ bootId: BOOT_ID, kernel: "6.1.0", hostName: "one" });
  return Promise.resolve({
    machine,
    bootId: BOOT_ID,
    kernel: "6.1.0",
    hostName: "one",
    startK3s: () => {
      machine.run([{ pid: 1, commandLine: "/sbin/init" }, { pid: 42, commandLine: "k3s server" }]);
      return Promise.resolve(42);
    },
    end: () => Promise.resolve(),
  });
});

machineContract("files", () => {
  const disk = createFakeDisk();
  disk.put("/proc/sys/kernel/random/boot_id", `${BOOT_ID}\n`, 0o444);
  disk.put("/proc/sys/kernel/osrelease", "6.1.0\n", 0o444);
  disk.put("/proc/sys/kernel/hostname", "one\n", 0o444);
  disk.put("/proc/uptime", "4242.99 8000.10\n", 0o444);
  disk.put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:    6000000 kB\n", 0o444);
  return Promise.resolve({
    machine: createFilesMachine(disk),
    bootId: BOOT_ID,
    kernel: "6.1.0",
    hostName: "one",
    startK3s: () => {
      disk.put("/proc/1/cmdline", "/usr/lib/systemd/systemd");
      disk.put("/proc/42/cmdline", "/usr/local/bin/k3s\0server\0");
      disk.put("/proc/43/status", "no command line");
      disk.put("/proc/self/cmdline", "k3s server");
      return Promise.resolve(42);
    },
    end: () => Promise.resolve(),
  });
});

machineContract("node", async () => {
  const folder = await Deno.makeTempDir({ prefix: "pbx-machine-" });
  let process: Deno.ChildProcess | undefined;
  const truth = async (name: string) =>
    (await Deno.readTextFile(`/proc/sys/kernel/${name}`)).trim();
  return {
    machine: createNodeMachine({ disk: withKernelFiles(createNodeDisk(), clock), clock }),
    bootId: await truth("random/boot_id"),
    kernel: await truth("osrelease"),
    hostName: await truth("hostname"),
    startK3s: async () => {
      const script = `${folder}/k3s`;
      // exec would take the command line away.
      await Deno.writeTextFile(script, "#!/bin/sh\nread -r line\n", { mode: 0o755 });
      process = new Deno.Command(script, { args: ["server"], stdin: "piped" }).spawn();
      await nameOf(process.pid, "k3s");
      return process.pid;
    },
    end: async () => {
      await process?.stdin.close();
      await process?.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
});

/** Waits until a new process has become the program that it is to run. */
async function nameOf(pid: number, name: string): Promise<void> {
  while ((await Deno.readTextFile(`/proc/${pid}/comm`)).trim() !== name) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

Deno.test("createNodeMachine: memory and uptime are those of /proc", async () => {
  const disk = createNodeDisk();
  const node = await createNodeMachine({ disk, clock }).facts();
  const files = await createFilesMachine(disk).facts();
  assert.ok(Math.abs((node.uptimeSeconds ?? 0) - (files.uptimeSeconds ?? 0)) <= 1);
  const [one = 0, other = 0] = [node.memoryAvailableBytes, files.memoryAvailableBytes]
    .map((bytes) => bytes ?? 0);
  assert.ok(Math.abs(one - other) < 0.2 * other, `${one} ${other}`);
});

Deno.test("withKernelFiles: reads /proc by a program, and tells absent from unreadable", async () => {
  const disk = withKernelFiles(createNodeDisk(), clock);
  const read = await disk.read("/proc/sys/kernel/ostype");
  assert.equal(read.ok && new TextDecoder().decode(read.value ?? undefined), "Linux\n");
  assert.deepEqual(await disk.read("/proc/no-such-file"), { ok: true, value: null });
  const folder = await disk.read("/proc/sys");
  assert.match(folder.ok ? "" : folder.error.message, /^\/usr\/bin\/cat \/proc\/sys: exit code 1/);
  const large = await disk.read("/proc/meminfo", 16);
  assert.equal(large.ok ? "" : large.error.code, "too_large");
});
