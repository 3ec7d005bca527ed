import type { PortalState } from "./state.ts";

/** Where the portal's state lies. It holds secrets in clear: folder and file are the owner's only. */
export interface Store {
  /** The state that was saved last, or null where there is none. Throws where it is unreadable. */
  load(): PortalState | null;
  /** Replaces the saved state, whole or not at all; on disk when this returns. */
  save(state: PortalState): void;
  /** Bytes of an artifact, or null. */
  artifact(name: string): Uint8Array | null;
  saveArtifact(name: string, bytes: Uint8Array): void;
}

const FORMAT = 1;
/** Marks an object that was a Map: names that people choose must not meet an object's own ones. */
const MAP = "$map";

/** A store in `folder`, which is made if it is missing. */
export function createStore(folder: string): Store {
  const artifacts = `${folder}/artifacts`;
  Deno.mkdirSync(artifacts, { recursive: true, mode: 0o700 });
  const path = `${folder}/portal.json`;
  return {
    load() {
      const text = readText(path);
      if (text === null) return null;
      const { format, state } = JSON.parse(text, revive);
      if (format !== FORMAT) {
        throw new Error(
          `${path} has format ${format}, this portal reads ${FORMAT}; use a new folder`,
        );
      }
      return state;
    },
    save(state) {
      const text = JSON.stringify({ format: FORMAT, state }, replace, 1);
      writeWhole(folder, path, new TextEncoder().encode(text));
    },
    artifact(name) {
      return readBytes(`${artifacts}/${name}`);
    },
    saveArtifact(name, bytes) {
      writeWhole(artifacts, `${artifacts}/${name}`, bytes);
    },
  };
}

/** A store that keeps nothing: for fleets, whose portal is gone with them. */
export function createMemoryStore(): Store {
  const artifacts = new Map<string, Uint8Array>();
  return {
    load: () => null,
    save: () => {},
    artifact: (name) => artifacts.get(name) ?? null,
    saveArtifact: (name, bytes) => void artifacts.set(name, bytes),
  };
}

function replace(_key: string, value: unknown): unknown {
  return value instanceof Map ? { [MAP]: [...value] } : value;
}

function revive(_key: string, value: unknown): unknown {
  const entries = typeof value === "object" && value !== null && Object.hasOwn(value, MAP)
    ? (value as Record<string, unknown>)[MAP]
    : undefined;
  return entries === undefined ? value : new Map(entries as [string, unknown][]);
}

function readText(path: string): string | null {
  const bytes = readBytes(path);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

function readBytes(path: string): Uint8Array | null {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function writeWhole(folder: string, path: string, bytes: Uint8Array): void {
  const temporary = `${path}.tmp`;
  const file = Deno.openSync(temporary, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o600,
  });
  try {
    let written = 0;
    while (written < bytes.length) written += file.writeSync(bytes.subarray(written));
    file.syncSync();
  } finally {
    file.close();
  }
  Deno.renameSync(temporary, path);
  const directory = Deno.openSync(folder, { read: true });
  try {
    directory.syncSync();
  } finally {
    directory.close();
  }
}
