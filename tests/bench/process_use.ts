/** What a process has used up to now. */
export interface ProcessUse {
  /** Memory that it holds now (RSS), MB. */
  readonly residentMb: number;
  /** User and system time of its own threads, milliseconds. */
  readonly cpuMs: number;
  /** The same of the children that it has waited for. */
  readonly childrenCpuMs: number;
}

/** Linux counts in hundredths of a second here, whatever the kernel's own rate is. */
const MS_PER_TICK = 10;

/** Reads `/proc` about a running process. */
export async function processUse(pid: number): Promise<ProcessUse> {
  const [stat, status] = await Promise.all([
    Deno.readTextFile(`/proc/${pid}/stat`),
    Deno.readTextFile(`/proc/${pid}/status`),
  ]);
  // The program's name, in brackets, may hold blanks; the field after it is the third.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = (field: number) => Number(fields[field - 3]);
  return {
    residentMb: Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1]) / 1024,
    cpuMs: (ticks(14) + ticks(15)) * MS_PER_TICK,
    childrenCpuMs: (ticks(16) + ticks(17)) * MS_PER_TICK,
  };
}
