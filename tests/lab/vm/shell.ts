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

/** Connects to the serial port on which the image's shell listens. */
export async function connectShell(socket: string): Promise<VmShell> {
  const ready = Promise.withResolvers<void>();
  const waiting = new Map<string, (output: ShellOutput) => void>();
  const lines = await connectLines(socket, (line) => {
    if (line === "shell ready") ready.resolve();
    const [, number = "", code, output = ""] = /^(\d+) (\d+) (\S*)$/.exec(line) ?? [];
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
      ready.promise.then(() => {
        waiting.set(number, answer.resolve);
        return lines.send(`${number} ${encodeBase64(new TextEncoder().encode(command))}`);
      }).catch(answer.reject);
      try {
        return await answer.promise;
      } finally {
        clearTimeout(timer);
      }
    },
    close: lines.close,
  };
}

function decode(base64: string): string {
  return new TextDecoder().decode(decodeBase64(base64) ?? new Uint8Array());
}
