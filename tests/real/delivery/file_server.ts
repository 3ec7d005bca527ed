import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** How one answer is spoilt. */
export interface Shape {
  /** This status and nothing of the file. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the connection after so many bytes of the answer. */
  readonly cutAfter?: number;
  /** Sends nothing more after so many bytes, until {@link FileServer.letGo}. */
  readonly holdAfter?: number;
}

/** Serves what releases name: files with ranges and entity tags, as a download server does. */
export interface FileServer {
  /**
   * Puts a file behind a name and gives its URL. `shapes` spoil the first answers, one each; those after
   * them are whole.
   */
  serve(name: string, bytes: Uint8Array<ArrayBuffer>, shapes?: readonly Shape[]): string;
  /** The ranges that were asked for, `all` where it was none, oldest first. */
  asked(name: string): readonly string[];
  /** Sends the rest of what is held, and holds nothing more. */
  letGo(): void;
  close(): Promise<void>;
}

/** Starts it on 127.0.0.1. */
export async function startFileServer(): Promise<FileServer> {
  const files = new Map<string, { bytes: Uint8Array; shapes: Shape[] }>();
  const asked = new Map<string, string[]>();
  const released = Promise.withResolvers<void>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = request.url?.slice(1) ?? "";
    const file = files.get(name);
    if (file === undefined) return void response.writeHead(404).end();
    const { range } = request.headers;
    asked.get(name)?.push(range ?? "all");
    const { status, headers, cutAfter, holdAfter } = file.shapes.shift() ?? {};
    if (status !== undefined) return void response.writeHead(status, { ...headers }).end();
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
    const { length } = file.bytes;
    response.writeHead(from > 0 ? 206 : 200, {
      "content-length": length - from,
      "etag": `"${name}"`,
      ...(from > 0 ? { "content-range": `bytes ${from}-${length - 1}/${length}` } : {}),
    });
    const rest = file.bytes.subarray(from);
    const first = rest.subarray(0, cutAfter ?? holdAfter);
    if (cutAfter !== undefined) return void response.write(first, () => response.destroy());
    if (holdAfter === undefined) return void response.end(rest);
    response.write(first);
    await released.promise;
    response.end(rest.subarray(first.length));
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it listens on no port");
  return {
    serve(name, bytes, shapes = []) {
      files.set(name, { bytes, shapes: [...shapes] });
      asked.set(name, []);
      return `http://127.0.0.1:${address.port}/${name}`;
    },
    asked: (name) => asked.get(name) ?? [],
    letGo: released.resolve,
    async close() {
      released.resolve();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
