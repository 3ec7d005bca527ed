import assert from "node:assert/strict";

/** Sockets that this process has open. */
export function openSockets(): number {
  let count = 0;
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    try {
      if (Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith("socket:")) count++;
    } catch {
      // The descriptor of this very listing.
    }
  }
  return count;
}

/** Waits until it is so, for five seconds at most. */
export async function eventually(isSo: () => boolean, otherwise: string): Promise<void> {
  // Other test files run in this process too: once it is so, it is not asked again.
  for (let tries = 0; tries < 500; tries++) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(otherwise);
}
