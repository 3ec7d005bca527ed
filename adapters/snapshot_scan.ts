import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Inspection, SnapshotFacts } from "../core/ports/snapshot_file.ts";

/** etcd appends the SHA-256 of the database to it. */
const HASH_BYTES = 32;
/** The header of the first page of bbolt's format: magic at 16, version at 20, size of a page at 24. */
const HEAD_BYTES = 28;
const BOLT_MAGIC = 0xed0cdaed;
const BOLT_VERSION = 2;
/** Longest text that is looked for, and so what two pieces must overlap by. */
const OVERLAP = 512;
/** Searched at a time, bytes: strings of this length are freed at once, larger ones pile up. */
const PIECE = 16 * 1024;

/** The key under which k3s keeps its certificates, encrypted with the token of that hash. */
const BOOTSTRAP_KEY = /\/bootstrap\/([0-9a-f]{12})(?![0-9a-f])/g;
/**
 * `kubeletVersion` and the tag of the field after it in a Node as Kubernetes stores it (protobuf): what
 * only looks like a version, in somebody's ConfigMap, has no such bytes around it.
 */
const KUBELET_VERSION = /:([^])(v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*\+k3s[0-9]+)B/g;

/** A look at a plain snapshot while its bytes pass. */
export interface SnapshotScan {
  feed(bytes: Uint8Array): void;
  /** Bytes so far. */
  size(): number;
  /** What all of it was. */
  end(): Inspection;
}

/** @param texts ASCII, at most 256 characters each */
export function scanSnapshot(texts: readonly string[] = []): SnapshotScan {
  const hash = createHash("sha256");
  const hashes = new Set<string>();
  const versions = new Set<string>();
  const found = new Set<string>();
  let head = new Uint8Array();
  /** The last bytes, which may be the hash and so are not hashed yet. */
  let held: Uint8Array = new Uint8Array();
  let overlap = "";
  let size = 0;

  function look(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE) lookAt(bytes.subarray(at, at + PIECE));
  }

  function lookAt(bytes: Uint8Array): void {
    // Searching a string is much faster than searching bytes; latin1 keeps each byte a character.
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const text = overlap + piece;
    if (text.includes("/bootstrap/")) {
      for (const [, token] of text.matchAll(BOOTSTRAP_KEY)) {
        if (token !== undefined) hashes.add(token);
      }
    }
    if (text.includes("+k3s")) {
      for (const [, length = "", version = ""] of text.matchAll(KUBELET_VERSION)) {
        if (length.charCodeAt(0) === version.length) versions.add(version);
      }
    }
    for (const wanted of texts) if (text.includes(wanted)) found.add(wanted);
    overlap = text.slice(-OVERLAP);
  }

  return {
    feed(bytes) {
      if (head.length < HEAD_BYTES) {
        head = joined(head, bytes.subarray(0, HEAD_BYTES - head.length));
      }
      size += bytes.length;
      if (bytes.length >= HASH_BYTES) {
        hash.update(held);
        hash.update(bytes.subarray(0, bytes.length - HASH_BYTES));
        held = bytes.slice(bytes.length - HASH_BYTES);
      } else {
        const all = joined(held, bytes);
        const keep = Math.min(HASH_BYTES, all.length);
        hash.update(all.subarray(0, all.length - keep));
        held = all.slice(all.length - keep);
      }
      look(bytes);
    },
    size: () => size,
    end() {
      if (size === 0) return broken("it is empty");
      const page = pageSize(head);
      if (page === null) {
        const why = "it is no etcd database: its first page has no such header";
        return { whole: false, why, isOther: true };
      }
      if (size % 512 !== HASH_BYTES) {
        return broken(
          `it ends too early or was changed: of its ${size} bytes the last ${HASH_BYTES} are not the ` +
            "checksum that etcd puts behind a whole database",
        );
      }
      if (hash.digest("hex") !== Buffer.from(held).toString("hex")) {
        return broken(
          "its content is damaged: the SHA-256 that etcd put at its end does not match",
        );
      }
      const facts: SnapshotFacts = {
        kind: "plain",
        size,
        plainSize: size,
        tokenHashes: [...hashes].sort(),
        k3sVersions: [...versions].sort(),
        texts: texts.filter((text) => found.has(text)),
      };
      return { whole: true, facts };
    },
  };
}

/** The size of a bbolt database's pages by its first bytes; null where they are none of such a file. */
function pageSize(head: Uint8Array): number | null {
  if (head.length < HEAD_BYTES) return null;
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const page = view.getUint32(24, true);
  const isPage = page >= 512 && page <= 1 << 20 && Math.log2(page) % 1 === 0;
  const isBolt = view.getUint32(16, true) === BOLT_MAGIC &&
    view.getUint32(20, true) === BOLT_VERSION;
  return isBolt && isPage ? page : null;
}

function broken(why: string): Inspection {
  return { whole: false, why };
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
