/** Lines of a program on their way into an operation's log, one after the other. */
export interface LineSayer {
  readonly take: (line: string) => void;
  /** Waits until all of them are written. */
  written(): Promise<void>;
}

/** k3s says this for every setting of its server that a subcommand does not know. */
const NOISE = /^time="[^"]*" level=warning msg="Unknown flag --\S+ found in config.yaml, skipping/;

/**
 * A line as it goes into the log: etcd's own come as JSON with much around the words, of which there are
 * too many for a log that somebody has to read.
 */
function readable(line: string): string {
  if (!line.startsWith("{")) return line;
  try {
    const { level, msg, error } = JSON.parse(line);
    if (typeof msg !== "string") return line;
    return `etcd ${level}: ${msg}${typeof error === "string" ? `: ${error}` : ""}`;
  } catch {
    return line;
  }
}

/** @param say writes a line */
export function sayLines(say: (line: string) => Promise<void>): LineSayer {
  let queue: Promise<void> = Promise.resolve();
  return {
    take(line) {
      if (line.trim() === "" || NOISE.test(line)) return;
      queue = queue.then(() => say(`k3s: ${readable(line)}`));
    },
    written: () => queue,
  };
}
