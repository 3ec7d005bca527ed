/** A thread that lives some nodes of a run; `part_thread.ts` starts it and asks it. */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { createPart, type Part, type PartOptions } from "./part.ts";
import type { PartAnswer, PartCall, PartMessage } from "./part_thread.ts";

function serve(port: MessagePort, options: PartOptions): void {
  const say = (message: PartMessage) => port.postMessage(message);
  let part: Part | null = null;

  async function answerTo(call: PartCall): Promise<PartAnswer> {
    part ??= createPart(options, (line) => say({ line }));
    if (call.do === "live") return await part.live(call.at);
    if (call.do === "end") return await part.end();
    await part.settle();
    return null;
  }

  port.on("message", async (call: PartCall) => {
    try {
      say({ answer: await answerTo(call) });
    } catch (error) {
      say({ error });
    }
  });
}

if (parentPort !== null) serve(parentPort, workerData as PartOptions);
