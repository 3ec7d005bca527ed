import { bytesToHex } from "@noble/hashes/utils.js";
import type { Random } from "../../core/ports/random.ts";
import type { seal } from "../../core/protocol/sealing.ts";
import type { hashBody, verify } from "../../core/protocol/signing.ts";
import type { Secret } from "../../core/secret.ts";
import { nativeHashBody } from "../native_hash.ts";
import type { AnswerKey } from "./answer_key.ts";
import type { Memory } from "./memory.ts";
import type { Boxes } from "./seal_document.ts";
import type { PortalState } from "./state.ts";
import type { Store } from "./store.ts";

/** What every endpoint works with. Endpoints are synchronous, so one request never sees half of another. */
export interface Portal {
  readonly state: PortalState;
  /** What is forgotten at a restart: requests, breaches, faults, replays. */
  readonly memory: Memory;
  readonly store: Store;
  readonly random: Random;
  /** The portal's own clock: the real one plus the admin's offset, in milliseconds. */
  now(): number;
  /** The same as RFC 3339. */
  time(): string;
  /** Notes that the state changed; it is saved before the answer goes out. */
  touch(): void;
  /** `http://127.0.0.1:PORT`, for artifacts. */
  origin(): string;
  /** Path of the protocol's base, `/agent/v1` if nobody says otherwise. */
  readonly base: string;
  /** How agents' signatures are verified; in JavaScript unless told. */
  readonly verify?: typeof verify;
  /** How bodies are hashed for that; by the runtime's own SHA-256 unless told. */
  readonly hashBody?: typeof hashBody;
  /** How secrets are sealed for them; in JavaScript unless told. */
  readonly seal?: typeof seal;
  /** Boxes that were made before and serve again; without it each is made anew. */
  readonly boxes?: Boxes;
  /** What proves its answers; without it none is proven. */
  readonly answerKey?: AnswerKey;
  /** The lab's release keys, first and second. */
  readonly releaseKeys: readonly [Secret<Uint8Array>, Secret<Uint8Array>];
}

const UTF8 = new TextEncoder();

/** Lower-case hex SHA-256 of a text. */
export function hashText(text: string): string {
  return nativeHashBody(UTF8.encode(text));
}

/** A random name that no other of its kind has, such as `agent-3f9c...`. */
export function freshId(random: Random, prefix: string): string {
  return `${prefix}-${bytesToHex(random.bytes(8))}`;
}
