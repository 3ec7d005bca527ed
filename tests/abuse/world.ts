/** A whole agent in memory, with a portal that answers what a test wants. */
import { createFakeHttp, type FakeReply } from "../../adapters/fake/http.ts";
import { createFakeRandom } from "../../adapters/fake/random.ts";
import type { RunEnd } from "../../core/agent/run.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { SealingKey } from "../../core/protocol/sealing.ts";
import { sealingPublicKey } from "../../core/protocol/sealing.ts";
import { Secret } from "../../core/secret.ts";
import { CONFIG_FILE, IDENTITY_FILE } from "../../core/state/paths.ts";
import { createWorld as createNode, type World as Node } from "../unit/agent/world.ts";
import { type Documents, documentsFor, envelope, PLAIN } from "./documents.ts";
import { json } from "./replies.ts";

/** The requests that a portal answers. */
export type Question = "enroll" | "sync" | "events" | "manifest";

/** One of them, as it came. */
export interface Asked {
  readonly question: Question;
  readonly request: HttpRequest;
}

/** Answers; what it leaves undefined is answered as it should be. */
export type Portal = (asked: Asked) => FakeReply | undefined;

/** A node with its agent. */
export interface World extends Pick<Node, "clock" | "disk" | "log" | "k8s" | "status"> {
  /** Everything that was asked since {@link World.forget}. */
  readonly asked: readonly Asked[];
  /** The agent's sealing key, once it has one. */
  sealingKey(): SealingKey;
  /** Documents for that key. */
  documents(): Documents;
  answerWith(portal: Portal): void;
  /** Starts the agent on the disk as it is; throws where one runs. */
  start(): void;
  /** Ends the agent, if one runs. Throws what escaped from it. */
  stop(): Promise<RunEnd | null>;
  /** Lets time pass until `done`, at most `limitMs`; false where it never was. */
  until(done: () => boolean, limitMs?: number): Promise<boolean>;
  /** Forgets what was asked, logged and written. */
  forget(): void;
}

const CONFIG = `# written by cloud-init
portal: https://portal.example.com/agent/v1
cluster_id: orchard
node_name: orchard-1
enrollment_token: ${PLAIN["enrollment"]}
`;

/** A node that has never started its agent. The same `seed`, the same keys. */
export function createWorld(seed: number): World {
  const node = createNode();
  const { clock, disk, log, k8s } = node;
  const asked: Asked[] = [];
  const http = createFakeHttp({ clock, peer: answer });
  const random = createFakeRandom(seed);
  let portal: Portal = () => undefined;
  let running = false;
  disk.put(CONFIG_FILE, CONFIG);

  function answer(request: HttpRequest): FakeReply {
    const question = questionOf(request.url);
    asked.push({ question, request });
    return portal({ question, request }) ?? good(question);
  }

  function good(question: Question): FakeReply {
    switch (question) {
      case "enroll":
        return json(200, documents().enrollAnswer());
      case "sync":
        return json(200, {
          time: new Date(clock.now()).toISOString(),
          desired: null,
          operation: null,
          desired_tag: null,
        });
      case "events":
        return json(200, { acked: 0 });
      case "manifest":
        return json(200, envelope());
    }
  }

  const identity = () => disk.text(IDENTITY_FILE);
  const sealingKey = cachedBy(identity, readSealingKey);
  const documents = cachedBy(identity, () => documentsFor(sealingKey()));

  function readSealingKey(): SealingKey {
    const { keys } = JSON.parse(identity() ?? "null");
    const bytes = Uint8Array.from(atob(keys.sealing), (character) => character.charCodeAt(0));
    const secretKey = new Secret<Uint8Array>(bytes);
    return { secretKey, publicKey: sealingPublicKey(secretKey) };
  }

  return {
    ...{ clock, disk, log, k8s, asked, sealingKey, documents, status: node.status },
    answerWith: (next) => {
      portal = next;
    },
    start() {
      node.start((ports) => ({ ...ports, http, random }));
      running = true;
    },
    async stop() {
      if (!running) return null;
      running = false;
      return await node.stop();
    },
    async until(done, limitMs = 3_600_000) {
      const end = clock.monotonic() + limitMs;
      await clock.settle();
      while (!done()) {
        // Nothing passes, but what escaped from the agent is thrown.
        await node.pass(0);
        if (clock.monotonic() > end || !await clock.advanceToNext()) return false;
      }
      await node.pass(0);
      return true;
    },
    forget() {
      asked.length = 0;
      log.forget();
      disk.forgetWrites();
      k8s.forgetRequests();
    },
  };
}

function questionOf(url: string): Question {
  const { pathname } = new URL(url);
  if (pathname.endsWith("/enroll")) return "enroll";
  if (pathname.endsWith("/sync")) return "sync";
  if (pathname.endsWith("/events")) return "events";
  if (pathname.endsWith("/manifest")) return "manifest";
  throw new Error(`the agent asked for ${url}`);
}

/** `make`, anew only when `key` says something else. */
function cachedBy<T>(key: () => string | null, make: () => T): () => T {
  let held: { readonly key: string | null; readonly value: T } | null = null;
  return () => {
    const now = key();
    if (held?.key !== now || held === null) held = { key: now, value: make() };
    return held.value;
  };
}
