import { waitUntil } from "./wait_until.ts";

const LIMIT_MS = 30_000;

/**
 * Stops a process as it is (SIGSTOP) and resolves once none of its threads runs any more. The signal
 * alone is not enough: it is taken by one thread, which has to get a processor before it can stop the
 * others, and until then they go on answering (seen on a busy machine).
 */
export async function pauseProcess(pid: number): Promise<void> {
  Deno.kill(pid, "SIGSTOP");
  await waitUntil(
    `process ${pid} to stand still`,
    async () => await standsStill(pid) || undefined,
    { timeoutMs: LIMIT_MS, everyMs: 5 },
  );
}

async function standsStill(pid: number): Promise<boolean> {
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    // `PID (name) STATE …`; the name can hold anything, so the last parenthesis counts (proc(5)).
    const stat = await Deno.readTextFile(`/proc/${pid}/task/${name}/stat`);
    if (stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "T") return false;
  }
  return true;
}
