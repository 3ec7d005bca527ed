/** A thread that lives some nodes of a run; `part_thread.ts` starts it. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { livePart, type PartOptions } from "./part.ts";
import type { PartMessage } from "./part_thread.ts";

async function serve(port: MessagePort, options: PartOptions): Promise<void> {
  const say = (message: PartMessage) => port.postMessage(message);
  try {
    const end = await livePart(options, {
      line: (line) => say({ line }),
      lived: (lived) => say({ lived }),
    });
    say({ end });
  } catch (error) {
    say({ error });
  }
}

if (parentPort !== null) await serve(parentPort, workerData as PartOptions);
