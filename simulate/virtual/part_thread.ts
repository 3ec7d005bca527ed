import { Worker } from "node:worker_threads";
import type { PartEnd, PartListener, PartOptions } from "./part.ts";

/** What its thread says: a line of the traced node's life, how far it is, or what it came to. */
export type PartMessage =
  | { readonly line: string }
  | { readonly lived: number }
  | { readonly end: PartEnd }
  | { readonly error: unknown };

/** Lives a part in a thread of its own, which ends with it. What goes wrong in there goes wrong here. */
export async function livePartInThread(
  options: PartOptions,
  listener: PartListener,
): Promise<PartEnd> {
  const worker = new Worker(new URL("./part_worker.ts", import.meta.url), { workerData: options });
  try {
    return await new Promise((resolve, reject) => {
      worker.on("message", (message: PartMessage) => {
        if ("line" in message) listener.line(message.line);
        else if ("lived" in message) listener.lived(message.lived);
        else if ("error" in message) reject(message.error);
        else resolve(message.end);
      });
      worker.on("error", reject);
      worker.on("exit", () => reject(new Error("the thread has ended")));
    });
  } finally {
    await worker.terminate();
  }
}
