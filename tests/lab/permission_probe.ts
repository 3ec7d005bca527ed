/**
 * A program that tries what the agent's permissions allow and what they do not, and prints what came of
 * each attempt: `done`, or the name of the error. It is run and compiled with the agent's own list.
 */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";

const attempts: Record<string, () => unknown> = {
  "allowed: the system's name": () => Deno.readTextFile("/etc/os-release"),
  "allowed: units are listed": () => Array.fromAsync(Deno.readDir("/etc/systemd/system")),
  "allowed: cat": () => run("/usr/bin/cat", "/proc/sys/kernel/random/boot_id"),
  "allowed: the user's number": () => Deno.uid(),
  "allowed: a proxy variable": () => Deno.env.get("HTTPS_PROXY"),
  "allowed: memory": () => Deno.systemMemoryInfo(),
  "read passwords": () => Deno.readTextFile("/etc/shadow"),
  "read passwords as Node.js does": () => readFile("/etc/shadow"),
  "read what a dotted path hides": () => Deno.readTextFile("/etc/ssl/../shadow"),
  "read keys of root": () => Deno.readTextFile("/root/.ssh/id_ed25519"),
  "read its environment": () => Deno.readTextFile("/proc/self/environ"),
  "read the kernel": () => Deno.readTextFile("/sys/firmware/efi/efivars/x"),
  "list the root folder": () => Array.fromAsync(Deno.readDir("/")),
  "write a cron job": () => Deno.writeTextFile("/etc/cron.d/pbx-probe", "", { create: false }),
  "write a unit of its own": () =>
    Deno.writeTextFile("/etc/systemd/system/pbx-probe.service", "", { create: false }),
  "write beside its folder": () => Deno.mkdir("/var/lib/pbx-agent-probe/x"),
  "write a program that it runs": () =>
    Deno.writeTextFile("/usr/local/bin/k3s", "", { create: false }),
  "write a folder for everybody": () => Deno.makeTempDir(),
  "link to what it may not read": () =>
    Deno.symlink("/etc/shadow", "/var/lib/pbx-agent/probe/none"),
  "run a shell": () => run("/bin/sh", "-c", "true"),
  "run a shell as Node.js does": () => execFileSync("/bin/sh", ["-c", "true"], { env: {} }),
  "run what starts anything": () => run("/usr/bin/env", "true"),
  "run itself": () => run(Deno.execPath(), "version"),
  "run cat with a library of its own": () =>
    new Deno.Command("/usr/bin/cat", { env: { LD_PRELOAD: "/probe.so" }, args: ["--version"] })
      .output(),
  "end another process": () => Deno.kill(1, "SIGCONT"),
  "the home folder's variable": () => Deno.env.get("HOME"),
  "all variables": () => Deno.env.toObject(),
  "set where programs are looked up": () => Deno.env.set("PATH", "/probe"),
  "a native library": () => Deno.dlopen("/usr/lib/libprobe.so", {}),
  "the machine's addresses": () => Deno.networkInterfaces(),
  "its group": () => Deno.gid(),
  "the bus of systemd": () =>
    Deno.connect({ transport: "unix", path: "/run/systemd/private" } as never),
  "code from elsewhere": () => import(["https:", "deno.land/x/probe.ts"].join("//")),
  "code that is made of a text": () => new Function("return 1")(),
  "asking for more": () => asked(),
};

async function run(program: string, ...args: string[]): Promise<void> {
  const command = new Deno.Command(program, { args, clearEnv: true, stdout: "null" });
  if (!(await command.output()).success) throw new Error(`${program} failed`);
}

async function asked(): Promise<void> {
  const { state } = await Deno.permissions.request({ name: "read", path: "/etc/shadow" });
  if (state === "denied") throw new Deno.errors.NotCapable("denied");
}

const outcomes: Record<string, string> = {};
for (const [what, attempt] of Object.entries(attempts)) {
  try {
    await attempt();
    outcomes[what] = "done";
  } catch (error) {
    outcomes[what] = error instanceof Error ? error.name : String(error);
  }
}
Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(outcomes)}\n`));
