import { readLines } from "./socket_lines.ts";

/** The serial console of a machine through all its boots. */
export interface VmConsole {
  /** Whole lines so far, without what terminals hide. */
  readonly lines: readonly string[];
  /** The first line at or behind `from` that matches, printed already or yet to come, and its index. */
  waitFor(
    pattern: RegExp,
    options: { readonly from?: number; readonly timeoutMs: number },
  ): Promise<{ readonly line: string; readonly index: number }>;
}

/** A console that is also written to a file, with the seconds since its beginning. */
export interface RecordedConsole extends VmConsole {
  /** Notes the beginning of a boot. */
  mark(boot: number): void;
  read(stream: ReadableStream<Uint8Array>): Promise<void>;
  close(): void;
}

/** Escape sequences, which firmware and boot loader draw with. */
// deno-lint-ignore no-control-regex -- that is what they are made of
const ESCAPES = /\x1b(?:\[[0-9;=?]*[A-Za-z]|[()][A-Z0-9])|[\x00-\x08\x0b-\x1f]/g;

/** Opens `file` anew; `onLine` hears every line as it comes. */
export function createConsole(
  file: string,
  onLine: (line: string) => void = () => {},
): RecordedConsole {
  const begin = performance.now();
  const log = Deno.openSync(file, { write: true, create: true, truncate: true });
  const encoder = new TextEncoder();
  const lines: string[] = [];
  const watchers = new Set<() => void>();

  function add(raw: string): void {
    const line = raw.replaceAll(ESCAPES, "");
    if (line.trim() === "") return;
    lines.push(line);
    const seconds = ((performance.now() - begin) / 1000).toFixed(2).padStart(8);
    log.writeSync(encoder.encode(`[${seconds}] ${line}\n`));
    onLine(line);
    for (const watcher of watchers) watcher();
  }

  return {
    lines,
    mark: (boot) => add(`---- boot ${boot} ----`),
    read: (stream) => readLines(stream, add),
    close: () => log.close(),
    waitFor(pattern, { from = 0, timeoutMs }) {
      return new Promise((resolve, reject) => {
        let index = from;
        const finish = (settle: () => void) => {
          watchers.delete(look);
          clearTimeout(timer);
          settle();
        };
        const timer = setTimeout(() => {
          const tail = lines.slice(-30).join("\n");
          finish(() => reject(new Error(`no line ${pattern} within ${timeoutMs} ms\n${tail}`)));
        }, timeoutMs);
        const look = () => {
          for (; index < lines.length; index++) {
            const line = lines[index] ?? "";
            if (pattern.test(line)) return finish(() => resolve({ line, index }));
          }
        };
        watchers.add(look);
        look();
      });
    },
  };
}
