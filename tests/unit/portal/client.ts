import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { rotationProof } from "../../../core/protocol/rotate_key.ts";
import { openSealed, sealingPublicKey } from "../../../core/protocol/sealing.ts";
import {
  sign,
  signedBytes,
  type SignedParts,
  signingPublicKey,
} from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";

/** An agent's key pairs. */
export interface Keys {
  readonly signing: Secret<Uint8Array>;
  readonly sealing: Secret<Uint8Array>;
  readonly public: { readonly signing: string; readonly sealing: string };
}

/** The keys of test agent `number`; the same number gives the same keys. */
export function keysOf(number: number): Keys {
  const signing = new Secret(new Uint8Array(32).fill(number));
  const sealing = new Secret(new Uint8Array(32).fill(number + 100));
  const text = { signing: signingPublicKey(signing), sealing: sealingPublicKey(sealing) };
  return {
    signing,
    sealing,
    public: { signing: encodeBase64(text.signing), sealing: encodeBase64(text.sealing) },
  };
}

/** What a sealed box holds, or null where these keys do not open it. */
export function open(keys: Keys, sealed: JsonValue | undefined): string | null {
  const box = (sealed as { sealed?: string } | undefined)?.sealed ?? "";
  const publicKey = decodeBase64(keys.public.sealing) ?? new Uint8Array(32);
  const opened = openSealed(box, [{ secretKey: keys.sealing, publicKey }]);
  return opened.ok ? opened.value.reveal() : null;
}

/** An answer with its JSON; the body is null where it is none. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it came. */
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- tests look into answers of every shape
  readonly body: any;
}

/** A request, and where it should differ from what a good agent would send. */
export interface Request {
  readonly method?: string;
  /** Below the base, or from the origin where it starts with `//`. */
  readonly path: string;
  /** JSON, or bytes as they are. */
  readonly body?: JsonValue | Uint8Array<ArrayBuffer>;
  /** Who signs; without it the request is not signed. */
  readonly agent?: { readonly id: string; readonly keys: Keys };
  /** Milliseconds since the epoch; the client takes the next second where it would sign the same again. */
  readonly at?: number;
  /** In place of what belongs there; null leaves a header out. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

/** A strict client of the protocol, written from its page and not from the portal. */
export interface Client {
  send(request: Request): Promise<Answered>;
  close(): void;
}

/** A client of the portal at `base`. Every request has a connection of its own. */
export function createClient(base: string, now: () => number, caPem?: string): Client {
  const http = Deno.createHttpClient({
    poolMaxIdlePerHost: 0,
    ...(caPem === undefined ? {} : { caCerts: [caPem] }),
  });
  const used = new Set<string>();
  /** Signs for the second of `ms`, or for a later one where that would repeat a signature. */
  const signOnce = (
    keys: Keys,
    parts: Omit<SignedParts, "timestamp">,
    ms: number,
    mayMoveOn: boolean,
  ): { second: number; signature: string } => {
    for (let second = Math.floor(ms / 1000);; second++) {
      const bytes = signedBytes({ ...parts, timestamp: second });
      const signature = encodeBase64(sign(keys.signing, bytes));
      if (mayMoveOn && used.has(signature)) continue;
      used.add(signature);
      return { second, signature };
    }
  };
  return {
    async send(request) {
      const url = request.path.startsWith("//")
        ? new URL(base).origin + request.path.slice(1)
        : base + request.path;
      const method = request.method ?? "POST";
      const bytes = request.body === undefined ? undefined : bytesOf(request.body);
      const headers = new Headers({ "PBX-Protocol": "1", "User-Agent": "pbx-agent/0.1.0" });
      if (bytes !== undefined) headers.set("Content-Type", "application/json");
      if (request.agent !== undefined) {
        const { id, keys } = request.agent;
        const path = url.slice(new URL(url).origin.length);
        const parts = { method, path, body: bytes ?? new Uint8Array(0) };
        const signed = signOnce(keys, parts, request.at ?? now(), request.at === undefined);
        headers.set("PBX-Agent", id);
        headers.set("PBX-Timestamp", String(signed.second));
        headers.set("PBX-Signature", signed.signature);
      }
      for (const [name, value] of Object.entries(request.headers ?? {})) {
        if (value === null) headers.delete(name);
        else headers.set(name, value);
      }
      const response = await fetch(url, {
        method,
        headers,
        client: http,
        redirect: "manual",
        ...(bytes === undefined ? {} : { body: bytes }),
      });
      const { status, headers: answered } = response;
      const text = await response.text();
      return { status, headers: answered, text, body: bodyOf(text) };
    },
    close: () => http.close(),
  };
}

/** A whole enrollment request; `changes` replace fields. */
export function enrollBody(token: string, keys: Keys, changes: JsonObject = {}): JsonObject {
  return {
    protocol: 1,
    token,
    cluster_id: "demo",
    node_name: "demo-1",
    server_id: "4711001",
    public_keys: keys.public,
    boot_image_sha256: null,
    agent_version: "0.1.0",
    arch: "amd64",
    ...changes,
  };
}

/** A whole report of a node that has accepted nothing yet; `changes` replace fields. */
export function syncBody(changes: JsonObject = {}): JsonObject {
  return {
    protocol: 1,
    agent: {
      version: "0.1.0",
      sha256: "a".repeat(64),
      arch: "amd64",
      started_at: "2026-03-01T11:00:00Z",
      keys_created_at: "2026-03-01T11:00:00Z",
    },
    node: {
      name: "demo-1",
      server_id: "4711001",
      boot_id: "2f0c3e5e-5e2b-4a52-9d0b-7f2b8f6f3b11",
      uptime_s: 60,
      os: "Debian GNU/Linux 13",
      kernel: "6.12.0",
      boot_entry: null,
      boot_image_sha256: null,
      k3s: { version: null, unit: "inactive" },
      api: "down",
      ready: null,
      leader: false,
      disk_free_bytes: 1_000_000,
      memory_available_bytes: 1_000_000,
    },
    desired: { revision: null, tag: null },
    pending: { k3s_restart: false },
    addons: [],
    conditions: [],
    operation: null,
    ...changes,
  };
}

/** A rotation to `keys`, proven by their signing key. */
export function rotateBody(agentId: string, keys: Keys): JsonObject {
  const proof = encodeBase64(sign(keys.signing, rotationProof(agentId, keys.public)));
  return { public_keys: keys.public, proof };
}

function bytesOf(body: JsonValue | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body));
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
