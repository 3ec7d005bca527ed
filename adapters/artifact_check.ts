import { createHash } from "node:crypto";
import type { ArtifactError, ArtifactFile } from "../core/ports/artifact.ts";

/** Thrown where what arrived is not what the manifest says. */
export class Wrong extends Error {
  readonly code: "wrong_hash" | "wrong_size";
  constructor(code: "wrong_hash" | "wrong_size", message: string) {
    super(message);
    this.code = code;
  }
}

/** Takes what travels, in order, and hands what it means to a file. Its methods throw {@link Wrong}. */
export interface ArtifactCheck {
  /** Resolves when `bytes` are not needed any more. Throws what the file throws. */
  take(bytes: Uint8Array): Promise<void>;
  /** All has travelled. */
  end(): Promise<void>;
  /** Nothing more comes; what is under way is let go. */
  abandon(): void;
}

/** One gzip byte can mean a thousand: so few at a time keep what is in memory small. */
const SLICE_BYTES = 16 * 1024;

/**
 * Decodes and checks an artifact piece by piece: no byte beyond the manifest's size reaches `write`, and
 * the end compares size and SHA-256 of the decoded file (protocol §6).
 */
export function checkArtifact(
  artifact: ArtifactFile,
  write: (bytes: Uint8Array) => Promise<void>,
): ArtifactCheck {
  const hash = createHash("sha256");
  let size = 0;

  async function put(bytes: Uint8Array): Promise<void> {
    size += bytes.length;
    if (size > artifact.size) throw new Wrong("wrong_size", `it is over ${artifact.size} bytes`);
    hash.update(bytes);
    await write(bytes);
  }

  function compare(): void {
    if (size !== artifact.size) {
      throw new Wrong("wrong_size", `it has ${size} bytes, not ${artifact.size}`);
    }
    const found = hash.digest("hex");
    if (found !== artifact.sha256) {
      throw new Wrong("wrong_hash", `its SHA-256 is ${found}, not ${artifact.sha256}`);
    }
  }

  if (artifact.encoding !== "gzip") {
    const end = () => Promise.resolve().then(compare);
    return { take: put, end, abandon() {} };
  }

  const gunzip = new DecompressionStream("gzip");
  const writer = gunzip.writable.getWriter();
  const reader = gunzip.readable.getReader();
  const decoded = (async () => {
    while (true) {
      let piece;
      try {
        piece = await reader.read();
      } catch {
        throw new Wrong("wrong_hash", "it is no whole gzip file");
      }
      if (piece.done) return;
      await put(piece.value);
    }
  })();
  decoded.catch(() => reader.cancel().catch(() => {}));
  // What goes wrong with the writing is told by what is read.
  const both = (written: Promise<void>) => Promise.race([written.catch(() => decoded), decoded]);
  writer.closed.catch(() => {});
  return {
    async take(bytes) {
      for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
        await both(writer.write(bytes.slice(at, at + SLICE_BYTES)));
      }
    },
    async end() {
      writer.close().catch(() => {});
      await decoded;
      compare();
    },
    abandon() {
      writer.abort().catch(() => {});
      reader.cancel().catch(() => {});
    },
  };
}

/** The error in words that name the artifact's origin. */
export function artifactError(
  artifact: ArtifactFile,
  code: ArtifactError["code"],
  what: string,
): ArtifactError {
  return { code, message: `the artifact from ${new URL(artifact.url).origin}: ${what}` };
}
