import process from "node:process";

/** What this process has used since it was watched. */
export interface ResourceWatch {
  /** Notes the present size of the process; to be called from time to time. */
  look(): void;
  /** CPU time in milliseconds, and the largest resident set that was seen, bytes. */
  used(): { readonly cpuMs: number; readonly rssBytes: number };
}

/** Watches the whole process, all of its threads. */
export function watchResources(): ResourceWatch {
  const before = process.cpuUsage();
  let rssBytes = 0;
  const look = () => rssBytes = Math.max(rssBytes, Deno.memoryUsage().rss);
  return {
    look,
    used() {
      look();
      const { user, system } = process.cpuUsage(before);
      return { cpuMs: Math.max(0, user + system) / 1000, rssBytes };
    },
  };
}
