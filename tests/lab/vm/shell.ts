import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";
import { connectLines } from "./socket_lines.ts";

/** How a command inside ended; stdout and stderr together. */
export interface ShellOutput {
  readonly code: number;
  readonly output: string;
}

/** Commands for a running machine. */
export interface VmShell {
  /** Waits for the machine to take commands first. One at a time. */
  run(command: string, timeoutMs: number): Promise<ShellOutput>;
  close(): void;
}

/** How long to wait for an answer before the command is sent once more, milliseconds. */
const AGAIN_MS = 20_000;

/** Connects to the serial port on which the image's shell listens. */
export async function connectShell(socket: string): Promise<VmShell> {
  const ready = Promise.withResolvers<void>();
  let isReady = false;
  const waiting = new Map<string, (output: ShellOutput) => void>();
  const lines = await connectLines(socket, (line) => {
    if (line.endsWith("shell ready")) {
      isReady = true;
      ready.resolve();
    }
    const [, number = "", code, output = ""] = /answer (\d+) (\d+) (\S*)$/.exec(line) ?? [];
    waiting.get(number)?.({ code: Number(code), output: decode(output) });
    waiting.delete(number);
  });
  let last = 0;
  return {
    async run(command, timeoutMs) {
      const number = String(++last);
      const answer = Promise.withResolvers<ShellOutput>();
      const timer = setTimeout(
        () => answer.reject(new Error(`no answer within ${timeoutMs} ms to: ${command}`)),
        timeoutMs,
      );
      waiting.set(number, answer.resolve);
      const line = `${number} ${encodeBase64(new TextEncoder().encode(command))}`;
      const send = () => void lines.send(line).catch(answer.reject);
      // A serial port may lose what comes at the wrong moment.
      const again = setInterval(() => isReady && send(), AGAIN_MS);
      void ready.promise.then(() => waiting.has(number) && send());
      try {
        return await answer.promise;
      } finally {
        clearTimeout(timer);
        clearInterval(again);
        waiting.delete(number);
      }
    },
    close: lines.close,
  };
}

function decode(base64: string): string {
  return new TextDecoder().decode(decodeBase64(base64) ?? new Uint8Array());
}
