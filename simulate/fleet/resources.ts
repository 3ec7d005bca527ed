import process from "node:process";

/** What this process has used since it was watched. */
export interface ResourceWatch {
  /** Notes the present size of the process; to be called from time to time. */
  look(): void;
  /**
   * CPU time in milliseconds, its largest share of the time between two looks, and the largest resident
   * set that was seen, bytes.
   */
  used(): { readonly cpuMs: number; readonly busiestShare: number; readonly rssBytes: number };
}

/** The shortest time of which a share is taken, milliseconds. */
const SHORTEST_MS = 500;

/** Watches the whole process, all of its threads. */
export function watchResources(): ResourceWatch {
  const before = process.cpuUsage();
  let rssBytes = 0;
  let busiestShare = 0;
  let last = { at: performance.now(), cpuMs: 0 };

  function cpu(): number {
    const { user, system } = process.cpuUsage(before);
    return Math.max(0, user + system) / 1000;
  }

  return {
    look() {
      rssBytes = Math.max(rssBytes, Deno.memoryUsage().rss);
      const now = { at: performance.now(), cpuMs: cpu() };
      // Shorter spans than that say more of the kernel's clock than of the process.
      if (now.at - last.at < SHORTEST_MS) return;
      busiestShare = Math.max(busiestShare, (now.cpuMs - last.cpuMs) / (now.at - last.at));
      last = now;
    },
    used: () => ({ cpuMs: cpu(), busiestShare, rssBytes }),
  };
}
