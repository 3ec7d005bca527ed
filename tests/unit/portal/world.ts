import assert from "node:assert/strict";
import { createNodeRandom } from "../../../adapters/node/random.ts";
import { parseReleaseKeys } from "../../../adapters/portal/release_keys.ts";
import { type RunningPortal, startPortal } from "../../../adapters/portal/server.ts";
import { welcome } from "../../../adapters/portal/welcome.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import {
  type Answered,
  type Client,
  createClient,
  enrollBody,
  type Keys,
  keysOf,
  syncBody,
} from "./client.ts";

const KEYS_FILE = new URL("../../../fixtures/lab-release-keys.json", import.meta.url);

/** The lab's release keys. */
export const RELEASE_KEYS = parseReleaseKeys(await Deno.readTextFile(KEYS_FILE));

/** A running portal with a clock that a test sets, a client, and its admin API. */
export interface World {
  readonly running: RunningPortal;
  readonly client: Client;
  /** A fresh token for demo-1 on server 4711001. */
  readonly token: string;
  /** Milliseconds since the epoch, for portal and client; a test may set it. */
  clock: { ms: number };
  /** What the portal wrote to its log. */
  readonly log: string[];
  admin(
    method: string,
    path: string,
    body?: JsonValue | Uint8Array<ArrayBuffer>,
  ): Promise<Answered>;
  /** Enrolls demo-1 with `keys`. */
  enroll(keys?: Keys): Promise<{ id: string; keys: Keys; answer: Answered["body"] }>;
  /** Sends a report that is good but for `changes`. */
  sync(agent: { id: string; keys: Keys }, changes?: JsonObject): Promise<Answered>;
}

/** How a world differs from the usual one. */
export interface WorldOptions {
  readonly stateDir?: string;
  readonly tls?: boolean;
  readonly base?: string;
}

/** Runs `test` in a world of its own and takes it down after. */
export async function inWorld(
  test: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const stateDir = options.stateDir ?? await Deno.makeTempDir();
  const clock = { ms: Date.parse("2026-03-01T12:00:00Z") };
  const log: string[] = [];
  const running = await startPortal({
    port: 0,
    stateDir,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(options.base === undefined ? {} : { base: options.base }),
    // Certificates are judged by the client's real clock.
    clock: { now: () => options.tls ? Date.now() : clock.ms, sleep: () => Promise.resolve() },
    random: createNodeRandom(),
    log: { write: (...line) => log.push(JSON.stringify(line)) },
    releaseKeys: RELEASE_KEYS,
  });
  const client = createClient(running.url, () => clock.ms, running.caPem);
  const admin = createClient(running.adminUrl, () => clock.ms);
  const token = String(welcome(running)["token"]);
  const world: World = {
    running,
    client,
    token,
    clock,
    log,
    admin: (method, path, body) =>
      admin.send({ method, path, ...(body === undefined ? {} : { body }) }),
    async enroll(keys = keysOf(1)) {
      const answer = await client.send({ path: "/enroll", body: enrollBody(token, keys) });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return { id: answer.body.agent_id, keys, answer: answer.body };
    },
    sync: (agent, changes = {}) => client.send({ path: "/sync", body: syncBody(changes), agent }),
  };
  try {
    await test(world);
  } finally {
    client.close();
    admin.close();
    await running.close();
    if (options.stateDir === undefined) await Deno.remove(stateDir, { recursive: true });
  }
}

/** Fails unless the answer is this refusal; `text` must stand in its message. */
export function assertRefused(answer: Answered, status: number, code: string, text = ""): void {
  assert.equal(`${answer.status} ${answer.body?.error?.code}`, `${status} ${code}`);
  assert.ok(answer.body.error.message.includes(text), answer.body.error.message);
}
