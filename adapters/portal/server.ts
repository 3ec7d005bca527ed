import { bytesToHex } from "@noble/hashes/utils.js";
import type { Clock } from "../../core/ports/clock.ts";
import type { Log } from "../../core/ports/log.ts";
import type { Random } from "../../core/ports/random.ts";
import type { Secret } from "../../core/secret.ts";
import { createNativeSealing } from "../native_sealing.ts";
import { createNativeSigning } from "../native_signing.ts";
import type { Admin } from "./admin/admin.ts";
import { serveAdmin } from "./admin/serve_admin.ts";
import { decodeBase64, encodeBase64 } from "../../core/protocol/base64.ts";
import { nativeKeyOf } from "./answer_key.ts";
import { answerAgent } from "./answer_agent.ts";
import { FIRST_RELEASE, firstRelease } from "./first_release.ts";
import { listen, type Listener } from "./http/listener.ts";
import { refuse, type Reply, type WireRequest } from "./http/message.ts";
import { createMemory } from "./memory.ts";
import type { Portal } from "./portal.ts";
import { emptyState } from "./state.ts";
import { createMemoryStore, createStore } from "./store.ts";
import { createSaver } from "./saver.ts";
import { makeCertificate } from "./tls.ts";

/** Longest body of the protocol, in bytes (protocol §1). */
const MAX_BODY = 262_144;
/** Longest body of the admin API: an agent's program or a boot image. */
const MAX_ADMIN_BODY = 1024 * 1024 * 1024;

/** Where no connection can be taken, it is tried again after this long, milliseconds. */
const FULL_PAUSE_MS = 100;

/** How to start a fake portal. */
export interface PortalOptions {
  /** For agents; 0: any free port. */
  readonly port: number;
  /** For the admin API; 0 or none: any free port. */
  readonly adminPort?: number;
  /** Folder of the state; made if it is missing, gone on with if it is there. Null: nothing is kept. */
  readonly stateDir: string | null;
  /** HTTPS for agents, with a certificate made now. */
  readonly tls?: boolean;
  /** Proves no answer, as a portal does that does not know trust.md. */
  readonly unsigned?: boolean;
  /** Path of the protocol's base, `/agent/v1` by default. */
  readonly base?: string;
  readonly clock: Pick<Clock, "now" | "sleep"> & Partial<Pick<Clock, "monotonic">>;
  readonly random: Random;
  readonly log: Log;
  /** The lab's release keys: two 32-byte Ed25519 seeds. */
  readonly releaseKeys: readonly [Secret<Uint8Array>, Secret<Uint8Array>];
}

/** A fake portal that runs. */
export interface RunningPortal {
  /** The protocol's base, for an agent's `portal`. */
  readonly url: string;
  /** Origin of the admin API, which is also a metadata service's (`metadata_url`). */
  readonly adminUrl: string;
  /** With TLS: the certificate, for an agent's `ca_file`. */
  readonly caPem?: string;
  /** Its inside, for programs that start it in their own process. */
  readonly portal: Portal;
  /** Ends every connection and saves the state. */
  close(): Promise<void>;
}

/** Starts a fake portal on 127.0.0.1. Throws where a port is taken or the state is unreadable. */
export async function startPortal(options: PortalOptions): Promise<RunningPortal> {
  const { clock, random, log } = options;
  const base = options.base ?? "/agent/v1";
  if (!/^(?:\/[A-Za-z0-9._~-]+)+$/.test(base)) {
    throw new Error(`the base ${base} is no path such as /agent/v1, without a slash at its end`);
  }
  const certificate = options.tls === true ? await makeCertificate(clock.now()) : undefined;
  const scheme = certificate === undefined ? "http" : "https";
  const store = options.stateDir === null ? createMemoryStore() : createStore(options.stateDir);
  const state = store.load() ?? emptyState(bytesToHex(random.bytes(16)));
  if (state.releases.size === 0) state.releases.set(FIRST_RELEASE, firstRelease());

  state.answerSeed ??= encodeBase64(random.bytes(32));
  const seed = decodeBase64(state.answerSeed) ?? new Uint8Array(0);

  let isDirty = true;
  const portal: Portal = {
    state,
    memory: createMemory(),
    store,
    random,
    base,
    verify: createNativeSigning().verify,
    seal: createNativeSealing().seal,
    boxes: new WeakMap(),
    ...(options.unsigned === true ? {} : { answerKey: nativeKeyOf(seed) }),
    releaseKeys: options.releaseKeys,
    now: () => clock.now() + state.clockOffsetMs,
    time: () => new Date(clock.now() + state.clockOffsetMs).toISOString(),
    touch: () => isDirty = true,
    origin: () => `${scheme}://127.0.0.1:${agents.port}`,
  };
  const save = () => {
    if (isDirty) store.save(state);
    isDirty = false;
  };
  const saver = createSaver({ save, isDirty: () => isDirty, clock });
  /** No answer leaves before what it promises is on disk; whatever breaks is answered, too. */
  const guarded = (serve: (request: WireRequest) => Promise<Reply>) =>
  async (
    request: WireRequest,
  ): Promise<Reply> => {
    try {
      const reply = await serve(request);
      await saver.saved();
      return reply;
    } catch (error) {
      log.write("error", "portal_broke", `${request.method} broke the portal: ${error}`);
      return { kind: "answer", answer: refuse(503, "internal", "the portal is broken") };
    }
  };

  let stopping = new AbortController();
  /** Ends the delays that faults ordered: whoever waits for those is cut off anyway. */
  const wakeAll = () => {
    stopping.abort();
    stopping = new AbortController();
  };
  const sleep = (ms: number) => clock.sleep(ms, stopping.signal);
  let toldFull = false;
  const full = async () => {
    const why = "no more connections can be taken: raise ulimit -n, or start a second portal";
    if (!toldFull) log.write("error", "portal_full", why);
    toldFull = true;
    await clock.sleep(FULL_PAUSE_MS);
  };
  const agents: Listener = listen({
    port: options.port,
    ...(certificate === undefined ? {} : { tls: certificate }),
    maxBody: MAX_BODY,
    now: portal.now,
    full,
    handle: guarded((request) => answerAgent({ portal, sleep, log }, request)),
  });
  let isDown = false;
  const admin: Admin = {
    portal,
    isDown: () => isDown,
    async outage(down) {
      isDown = down;
      if (!down) return agents.up();
      wakeAll();
      await agents.down();
    },
  };
  const admins = listen({
    port: options.adminPort ?? 0,
    maxBody: MAX_ADMIN_BODY,
    now: clock.now,
    full,
    handle: guarded(async (request) => ({
      kind: "answer",
      answer: await serveAdmin(admin, request),
    })),
  });
  save();
  return {
    url: `${portal.origin()}${base}`,
    adminUrl: `http://127.0.0.1:${admins.port}`,
    ...(certificate === undefined ? {} : { caPem: certificate.cert }),
    portal,
    async close() {
      wakeAll();
      await Promise.all([agents.down(), admins.down()]);
      isDirty = true;
      save();
    },
  };
}
