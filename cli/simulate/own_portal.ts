import { fileURLToPath } from "node:url";
import type { OwnPortal } from "./options.ts";

/** A portal of tens of thousands of nodes has a large heap, and much that lives for one cycle, MiB. */
const HEAP = "--v8-flags=--max-old-space-size=16384,--max-semi-space-size=32";

const FLAGS = ["--memory", "--quiet", "--end-with-input"];

/**
 * Starts the fake portal in a process of its own, so that it does not share a core's time with the agents
 * that measure it. It keeps nothing on disk and writes no line a request.
 */
export async function startOwnPortal(): Promise<OwnPortal> {
  const program = fileURLToPath(new URL("../portal.ts", import.meta.url));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", HEAP, "-A", program, ...FLAGS],
    // Held as long as this process lives: the portal ends with it, however it ends.
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
    // A Ctrl-C is for the agents: the portal ends after them.
    detached: true,
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { url, admin } = await firstLine(reader);
  return {
    url,
    adminUrl: admin,
    async close() {
      child.kill("SIGTERM");
      await reader.cancel();
      await child.status;
    },
  };
}

async function firstLine(
  reader: ReadableStreamDefaultReader<string>,
): Promise<{ url: string; admin: string }> {
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the fake portal did not start");
    text += value;
  }
  return JSON.parse(text);
}
