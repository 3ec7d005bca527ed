import { runCommand } from "../command.ts";
import type { CommandOptions, CommandOutput } from "../command.ts";

const GUEST_ENVIRONMENT = ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"];
const DEFAULT_TIMEOUT_MS = 60_000;
/** The exit code by which `timeout` says that the time was over. */
const TIMED_OUT = 124;

/**
 * The container's process 1 as the host sees it: the child of systemd-nspawn that has become
 * systemd. `undefined` while it has not.
 */
export async function findLeader(nspawnPid: number): Promise<number | undefined> {
  const children = await childrenOf(nspawnPid);
  for (const pid of children) {
    const comm = await Deno.readTextFile(`/proc/${pid}/comm`).catch(() => "");
    const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
    if (comm.trim() === "systemd" && /^NSpid:.*\s1$/m.test(status)) return pid;
  }
  return undefined;
}

async function childrenOf(pid: number): Promise<number[]> {
  const children: number[] = [];
  for await (const task of Deno.readDir(`/proc/${pid}/task`)) {
    const list = await Deno.readTextFile(`/proc/${pid}/task/${task.name}/children`);
    children.push(...list.split(/\s+/).filter((part) => part !== "").map(Number));
  }
  return children;
}

/**
 * Runs a command inside the container that `leader` leads, as root, with a small environment of its
 * own. `timeout` runs inside, because killing nsenter would leave the command behind.
 */
export async function execInside(
  leader: number,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandOutput> {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const extra = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const enter = ["-t", String(leader), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w"];
  const command = ["env", "-i", ...GUEST_ENVIRONMENT, ...extra];
  const limit = ["timeout", "--kill-after=2", `${timeoutMs / 1_000}`];
  const output = await runCommand("nsenter", [...enter, ...command, ...limit, ...args], {
    timeoutMs: timeoutMs + 5_000,
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
  });
  if (output.code === TIMED_OUT) {
    throw new Error(`${args.join(" ")} was killed in the container: longer than ${timeoutMs} ms`);
  }
  return output;
}
