import { Worker } from "node:worker_threads";
import type { Part, PartEnd, PartOptions, PartState } from "./part.ts";

/** What a part is asked from another thread. */
export type PartCall =
  | { readonly do: "live"; readonly at: number }
  | { readonly do: "settle" }
  | { readonly do: "end" };

/** What a call is answered with: by `live`, by `end`, by `settle`. */
export type PartAnswer = PartState | PartEnd | null;

/** What its thread says: a line of the traced node's life, or what a call came to. */
export type PartMessage =
  | { readonly line: string }
  | { readonly answer: PartAnswer }
  | { readonly error: unknown };

/** A part in a thread of its own, which ends with it. What goes wrong in there goes wrong in the call. */
export function createThreadPart(options: PartOptions, print: (line: string) => void): Part {
  const worker = new Worker(new URL("./part_worker.ts", import.meta.url), { workerData: options });
  let call: PromiseWithResolvers<PartAnswer> = Promise.withResolvers();
  worker.on("message", (message: PartMessage) => {
    if ("line" in message) print(message.line);
    else if ("error" in message) call.reject(message.error);
    else call.resolve(message.answer);
  });
  const ended = new Promise<never>((_, reject) => {
    worker.on("error", reject);
    worker.on("exit", () => reject(new Error("the thread has ended")));
  });
  // It may end between two calls: the next one hears of it.
  ended.catch(() => {});

  function ask(what: PartCall): Promise<PartAnswer> {
    call = Promise.withResolvers();
    worker.postMessage(what);
    return Promise.race([call.promise, ended]);
  }

  return {
    live: async (at) => await ask({ do: "live", at }) as PartState,
    settle: async () => void await ask({ do: "settle" }),
    async end() {
      const end = await ask({ do: "end" }) as PartEnd;
      await worker.terminate();
      return end;
    },
  };
}
