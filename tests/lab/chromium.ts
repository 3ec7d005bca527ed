import { startLabProcess } from "./lab_process.ts";

/** What a page did, as the browser told it. */
export interface PageNotes {
  /** URLs that were asked for, but for the page itself and `data:`. */
  readonly requests: readonly string[];
  /** Errors and warnings: exceptions, the console, what a policy refused. */
  readonly complaints: readonly string[];
  /** Dialogs that scripts opened. */
  readonly dialogs: readonly string[];
}

/** A page in a browser without a screen. */
export interface Page extends PageNotes {
  /** Evaluates an expression in the page; its value is passed as JSON. */
  evaluate<T>(expression: string): Promise<T>;
  /** Moves the pointer, in CSS pixels of the window. */
  point(x: number, y: number): Promise<void>;
  /** Width and height of the window, CSS pixels, and what the reader prefers. */
  emulate(look: { width: number; height: number; dark?: boolean }): Promise<void>;
  /** PNG of the whole page, or of a part of it. */
  screenshot(clip?: { x: number; y: number; width: number; height: number }): Promise<Uint8Array>;
}

/** A browser of its own, with a profile that is removed with it. */
export interface Browser {
  open(url: string): Promise<Page>;
  close(): Promise<void>;
}

// deno-lint-ignore no-explicit-any -- messages of the DevTools protocol are of every shape
type Message = any;

/** Starts Debian's Chromium, headless. Every name and address leads nowhere: there is no network. */
export async function startChromium(): Promise<Browser> {
  const profile = await Deno.makeTempDir({ prefix: "pbx-chromium-" });
  const process = startLabProcess("chromium", [
    ...["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    ...["--hide-scrollbars", "--no-first-run", "--proxy-server=127.0.0.1:9"],
    ...["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-component-update"],
    ...[`--user-data-dir=${profile}`, "--remote-debugging-port=0", "about:blank"],
  ]);
  const endpoint = await waitForEndpoint(process);
  const connection = await connect(endpoint);
  return {
    async open(url) {
      const { targetId } = await connection.call("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await connection.call("Target.attachToTarget", {
        targetId,
        flatten: true,
      });
      return await openPage(connection, sessionId, url);
    },
    async close() {
      await connection.close();
      await process.stop();
      await Deno.remove(profile, { recursive: true });
    },
  };
}

async function openPage(connection: Connection, session: string, url: string): Promise<Page> {
  const call = (method: string, params: Message = {}) => connection.call(method, params, session);
  const notes = { requests: [] as string[], complaints: [] as string[], dialogs: [] as string[] };
  let loaded = () => {};
  const loading = new Promise<void>((resolve) => loaded = resolve);
  connection.listen(session, (method, params) => {
    if (method === "Page.loadEventFired") loaded();
    if (method === "Network.requestWillBeSent") {
      const asked: string = params.request.url;
      if (asked !== url && !asked.startsWith("data:")) notes.requests.push(asked);
    }
    if (method === "Runtime.exceptionThrown") {
      notes.complaints.push(String(params.exceptionDetails.text));
    }
    if (method === "Runtime.consoleAPICalled") notes.complaints.push(`console.${params.type}`);
    if (method === "Log.entryAdded" && params.entry.level !== "info") {
      notes.complaints.push(String(params.entry.text));
    }
    if (method === "Page.javascriptDialogOpening") {
      notes.dialogs.push(String(params.message));
      call("Page.handleJavaScriptDialog", { accept: true });
    }
  });
  for (const domain of ["Page", "Network", "Runtime", "Log"]) await call(`${domain}.enable`);
  const offline = { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 };
  await call("Network.emulateNetworkConditions", offline);
  await call("Page.navigate", { url });
  await loading;
  return {
    ...notes,
    async evaluate(expression) {
      const params = { expression, returnByValue: true, awaitPromise: true };
      const { result, exceptionDetails } = await call("Runtime.evaluate", params);
      if (exceptionDetails !== undefined) {
        throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      }
      return result.value;
    },
    async point(x, y) {
      await call("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
    },
    async emulate({ width, height, dark = false }) {
      const metrics = { width, height, deviceScaleFactor: 1, mobile: false };
      await call("Emulation.setDeviceMetricsOverride", metrics);
      const feature = { name: "prefers-color-scheme", value: dark ? "dark" : "light" };
      await call("Emulation.setEmulatedMedia", { features: [feature] });
    },
    async screenshot(clip) {
      const { data } = await call("Page.captureScreenshot", {
        format: "png",
        captureBeyondViewport: true,
        ...(clip === undefined ? {} : { clip: { ...clip, scale: 1 } }),
      });
      return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    },
  };
}

interface Connection {
  call(method: string, params: Message, session?: string): Promise<Message>;
  listen(session: string, heard: (method: string, params: Message) => void): void;
  close(): Promise<void>;
}

/** A connection of the DevTools protocol. */
async function connect(endpoint: string): Promise<Connection> {
  const socket = new WebSocket(endpoint);
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const waiting = new Map<number, PromiseWithResolvers<Message>>();
  const listeners = new Map<string, (method: string, params: Message) => void>();
  let last = 0;
  socket.onopen = () => opened.resolve();
  socket.onerror = () => opened.reject(new Error("chromium takes no DevTools connection"));
  socket.onclose = () => {
    closed.resolve();
    for (const call of waiting.values()) call.reject(new Error("chromium has ended"));
  };
  socket.onmessage = ({ data }) => {
    const { id, method, params, result, error, sessionId } = JSON.parse(data);
    if (id === undefined) return listeners.get(sessionId ?? "")?.(method, params);
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(error.message));
  };
  await opened.promise;
  return {
    call(method, params, session) {
      const id = ++last;
      const call = Promise.withResolvers<Message>();
      waiting.set(id, call);
      const sessionId = session === undefined ? {} : { sessionId: session };
      socket.send(JSON.stringify({ id, method, params, ...sessionId }));
      return call.promise;
    },
    listen: (session, heard) => void listeners.set(session, heard),
    async close() {
      socket.close();
      await closed.promise;
    },
  };
}

/** Chromium says on stderr where its DevTools listen. */
async function waitForEndpoint(process: ReturnType<typeof startLabProcess>): Promise<string> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    for (const line of process.stderr) {
      const endpoint = /^DevTools listening on (ws:\/\/\S+)$/.exec(line)?.[1];
      if (endpoint !== undefined) return endpoint;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await process.stop();
  throw new Error(`chromium did not start:\n${process.stderr.join("\n")}`);
}
