/** The JavaScript heap of a process that was started with `--inspect`. */
export interface LiveHeap {
  /** What is still in use after a full garbage collection, MB. */
  usedMb(): Promise<number>;
  close(): void;
}

/** Connects to the inspector that `stderr`, the first lines that the process printed, tells of. */
export async function openLiveHeap(stderr: readonly string[]): Promise<LiveHeap> {
  const url = /\bws:\/\/127\.0\.0\.1:\S+/.exec(stderr.join("\n"))?.[0];
  if (url === undefined) throw new Error(`the process tells no inspector: ${stderr.join("\n")}`);
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`the inspector at ${url} does not answer`));
  });

  let lastId = 0;
  function call(method: string): Promise<{ readonly usedSize?: number }> {
    const id = ++lastId;
    return new Promise((resolve) => {
      const listen = ({ data }: MessageEvent<string>) => {
        const message = JSON.parse(data);
        if (message.id !== id) return;
        socket.removeEventListener("message", listen);
        resolve(message.result);
      };
      socket.addEventListener("message", listen);
      socket.send(JSON.stringify({ id, method }));
    });
  }

  return {
    async usedMb() {
      await call("HeapProfiler.collectGarbage");
      const { usedSize = Number.NaN } = await call("Runtime.getHeapUsage");
      return usedSize / 1024 / 1024;
    },
    close: () => socket.close(),
  };
}
