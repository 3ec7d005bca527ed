import assert from "node:assert/strict";
import type { Http, HttpAnswer, HttpError, HttpRequest } from "../../core/ports/http.ts";

/** What the far end does with one request. */
export type PeerScript =
  | {
    readonly kind: "answer";
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }
  /** Takes the request and says nothing, ends in the headers or in the body, or stalls in the body. */
  | { readonly kind: "silent" | "cut_head" | "cut_body" | "stalled_body" }
  /** Answers every other request; hears the ones between to their end and closes without a word. */
  | { readonly kind: "hangs_up" }
  /** Nobody listens; nobody has this name; the certificate is not trusted. */
  | { readonly kind: "refused" | "no_such_name" | "untrusted" };

/** A request as the far end got it. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** An adapter and its far end. */
export interface HttpWorld {
  readonly http: Http;
  /** A URL whose peer follows the script. It ends in `query`. */
  url(script: PeerScript, query?: string): string;
  /** What reached the far end so far. */
  seen(): readonly SeenRequest[];
  close(): Promise<void>;
}

const GENEROUS = { totalMs: 20_000, connectMs: 10_000, maxBytes: 1_000_000 };

/** The forms of a request: which of them a runtime takes for repeatable differs. */
const SENT = {
  "a POST": { method: "POST", body: new TextEncoder().encode('{"a":1}') },
  "a POST of nothing": { method: "POST", body: new Uint8Array() },
  "a POST without a body": { method: "POST" },
  "a GET": { method: "GET" },
} as const satisfies Readonly<Record<string, Partial<HttpRequest>>>;

/** What every {@link Http} does. `version` of the adapter under test is 1.2.3. */
export function httpContract(name: string, open: () => Promise<HttpWorld>): void {
  const test = (what: string, run: (world: HttpWorld) => Promise<void>) =>
    Deno.test(`http (${name}): ${what}`, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });

  for (const status of [200, 204, 301, 307, 401, 404, 429, 500, 503]) {
    test(`a ${status} is an answer`, async ({ http, url, seen }) => {
      const headers = { "Location": "http://127.0.0.1:9/elsewhere", "Retry-After": "7" };
      const body = status === 204 ? "" : `{"status":${status}}`;
      const target = url({ kind: "answer", status, headers, body });
      const answer = await answered(http, { url: target });
      assert.equal(answer.status, status);
      assert.equal(text(answer.body), body);
      assert.equal(answer.headers["retry-after"], "7");
      assert.equal(answer.headers["location"], "http://127.0.0.1:9/elsewhere");
      assert.equal(seen().length, 1, "a redirect must not be followed");
    });
  }

  test("sends method, query, headers, body and its User-Agent", async ({ http, url, seen }) => {
    const body = new TextEncoder().encode('{"a":"ö"}');
    const target = url({ kind: "answer", status: 200 }, "?q=%20x&y");
    const headers = { "Content-Type": "application/json", "PBX-Protocol": "1" };
    await answered(http, { url: target, method: "POST", headers, body });
    await answered(http, { url: target });
    const [post, get] = seen();
    assert.equal(post?.method, "POST");
    assert.ok(post.target.endsWith("?q=%20x&y"), post.target);
    assert.equal(post.headers["content-type"], "application/json");
    assert.equal(post.headers["pbx-protocol"], "1");
    assert.equal(post.headers["user-agent"], "pbx-agent/1.2.3");
    assert.deepEqual(post.body, body);
    assert.equal(get?.method, "GET");
    assert.equal(get.headers["user-agent"], "pbx-agent/1.2.3");
    assert.equal(get.headers["pbx-protocol"], undefined);
    assert.equal(get.body.length, 0);
  });

  test("who asks for identity gets the bytes as they came, and their Content-Encoding", async (world) => {
    const { http, url, seen } = world;
    // No gzip at all: whoever decodes it fails.
    const target = url({
      kind: "answer",
      status: 200,
      headers: { "Content-Encoding": "gzip" },
      body: "as it came",
    });
    const headers = { "Accept-Encoding": "identity" };
    const answer = await answered(http, { url: target, headers });
    assert.equal(text(answer.body), "as it came");
    assert.equal(answer.headers["content-encoding"], "gzip");
    assert.equal(seen()[0]?.headers["accept-encoding"], "identity");
  });

  test("takes a body of exactly the limit and none above it", async ({ http, url }) => {
    const target = url({ kind: "answer", status: 200, body: "x".repeat(1_000) });
    assert.equal((await answered(http, { url: target, maxBytes: 1_000 })).body.length, 1_000);
    assert.equal((await failed(http, { url: target, maxBytes: 999 })).code, "too_large");
  });

  const faults: readonly (readonly [PeerScript, HttpError["code"]])[] = [
    [{ kind: "refused" }, "connect"],
    [{ kind: "no_such_name" }, "connect"],
    [{ kind: "untrusted" }, "tls"],
    [{ kind: "cut_head" }, "cut"],
    [{ kind: "cut_body" }, "cut"],
  ];
  for (const [script, code] of faults) {
    test(`${script.kind} is "${code}"`, async ({ http, url }) => {
      // Words of the URL itself must not be taken for the fault.
      const target = url(script, "?proxy=tunnel&tls=alert&dns=error");
      assert.equal((await failed(http, { url: target })).code, code);
    });
  }

  for (const [before, first] of Object.entries(SENT)) {
    for (const [name, second] of Object.entries(SENT)) {
      test(`${name} that nobody answered is not sent again, after ${before}`, async (world) => {
        const target = world.url({ kind: "hangs_up" });
        await answered(world.http, { url: target, ...first });
        const { code } = await failed(world.http, { url: target, ...second });
        assert.ok(code === "cut" || code === "connect", code);
        assert.deepEqual(world.seen().map(({ method }) => method), [first.method, second.method]);
      });
    }
  }

  for (const kind of ["silent", "stalled_body"] as const) {
    test(`the total limit ends a peer that is ${kind}`, async ({ http, url }) => {
      assert.equal((await failed(http, { url: url({ kind }), totalMs: 60 })).code, "timeout");
    });

    test(`the signal ends a peer that is ${kind}`, async ({ http, url }) => {
      const controller = new AbortController();
      const error = failed(http, { url: url({ kind }), signal: controller.signal });
      setTimeout(() => controller.abort(), 40);
      assert.equal((await error).code, "aborted");
    });
  }

  test("a signal that is over sends nothing", async ({ http, url, seen }) => {
    const target = url({ kind: "answer", status: 200 });
    const error = await failed(http, { url: target, signal: AbortSignal.abort() });
    assert.equal(error.code, "aborted");
    assert.equal(seen().length, 0);
  });

  test("leaves no listener on a signal that lives on", async ({ http, url }) => {
    const { signal, listeners } = countedSignal();
    await answered(http, { url: url({ kind: "answer", status: 200 }), signal });
    await failed(http, { url: url({ kind: "refused" }), signal });
    await failed(http, { url: url({ kind: "silent" }), signal, totalMs: 30 });
    assert.equal(listeners(), 0);
  });

  test("no error text holds a header, a body or a query", async ({ http, url }) => {
    const kinds = [
      "refused",
      "no_such_name",
      "untrusted",
      "cut_head",
      "cut_body",
      "silent",
    ] as const;
    const hidden = { headers: { "PBX-Signature": "hidden-1" }, body: bytes("hidden-2") };
    for (const kind of kinds) {
      const target = url({ kind }, "?key=hidden-3");
      const totalMs = kind === "silent" ? 50 : GENEROUS.totalMs;
      const error = await failed(http, { url: target, method: "POST", ...hidden, totalMs });
      assert.doesNotMatch(error.message, /hidden/);
      assert.ok(error.message.includes(new URL(target).origin), error.message);
    }
  });
}

type Given = { readonly url: string } & Partial<HttpRequest>;

async function answered(http: Http, given: Given): Promise<HttpAnswer> {
  const result = await http.request({ method: "GET", headers: {}, ...GENEROUS, ...given });
  assert.ok(result.ok, result.ok ? "" : result.error.message);
  return result.value;
}

async function failed(http: Http, given: Given): Promise<HttpError> {
  const result = await http.request({ method: "GET", headers: {}, ...GENEROUS, ...given });
  assert.ok(!result.ok, "an error was expected");
  return result.error;
}

function countedSignal(): { signal: AbortSignal; listeners: () => number } {
  const { signal } = new AbortController();
  const live = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type: string, listener: EventListener) => {
    live.add(listener);
    add(type, listener);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    live.delete(listener);
    remove(type, listener);
  };
  return { signal, listeners: () => live.size };
}

function bytes(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function text(value: Uint8Array): string {
  return new TextDecoder().decode(value);
}
