import { isMap, isScalar, parseDocument } from "yaml";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { Disk } from "../ports/disk.ts";
import { fail, ok, type Result } from "../result.ts";
import { Secret } from "../secret.ts";
import { DROP_IN_DIRECTORY } from "./drop_ins.ts";
import { K3S_CONFIG_PATH } from "./k3s_config.ts";

/** What k3s's configuration says of the things that a restore depends on. */
export interface K3sSettings {
  /** The server that this one is told to join, and the file that says so; null where there is none. */
  readonly server: { readonly url: string; readonly file: string } | null;
  /** The token in the configuration, and the file that has the last word on it. */
  readonly token: { readonly value: Secret; readonly file: string } | null;
  /** A file that holds the token. */
  readonly tokenFile: string | null;
  readonly nodeName: string | null;
  readonly snapshotDirectory: string | null;
}

/** A file of the configuration. */
export interface K3sConfigFile {
  readonly path: string;
  readonly text: string;
}

/** A file of settings has some lines; reading a megabyte of YAML made to be slow takes half a minute. */
const MAX_BYTES = 64 * 1024;

/** Reads k3s's configuration: config.yaml, then the drop-ins in the order of their names (k3s fact A). */
export async function readK3sSettings(disk: Disk): Promise<Result<K3sSettings, string>> {
  const files = await readFiles(disk);
  return files.ok ? mergeK3sSettings(files.value) : files;
}

/**
 * The server that this one is told to join; null where it is told none, or where the configuration is
 * unreadable. The first start asks every two seconds: files in which no key can be `server` are not
 * understood any further.
 */
export async function readJoinedServer(disk: Disk): Promise<string | null> {
  const files = await readFiles(disk);
  if (!files.ok || !files.value.some(({ text }) => MAY_NAME_SERVER.test(text))) return null;
  const settings = mergeK3sSettings(files.value);
  return settings.ok ? settings.value.server?.url ?? null : null;
}

/** The key or its short form as a word; with a backslash YAML can write it in other ways. */
const MAY_NAME_SERVER = /\b(?:server|s)\b|\\/;

async function readFiles(disk: Disk): Promise<Result<readonly K3sConfigFile[], string>> {
  const names = await disk.list(DROP_IN_DIRECTORY);
  if (!names.ok) return fail(names.error.message);
  const dropIns = (names.value ?? []).filter((name) => /\.ya?ml$/.test(name));
  const files: K3sConfigFile[] = [];
  for (const path of [K3S_CONFIG_PATH, ...dropIns.map((name) => `${DROP_IN_DIRECTORY}/${name}`)]) {
    const read = await disk.read(path, MAX_BYTES);
    if (!read.ok) return fail(read.error.message);
    if (read.value !== null) files.push({ path, text: new TextDecoder().decode(read.value) });
  }
  return ok(files);
}

/** What the files say together: of plain keys the last one counts. The error names the file. */
export function mergeK3sSettings(files: readonly K3sConfigFile[]): Result<K3sSettings, string> {
  const merged = new Map<string, { readonly value: string; readonly file: string }>();
  for (const { path, text } of files) {
    const content = contentOf(text);
    if (content === null) return fail(`${path} is no YAML mapping: k3s does not start with it`);
    for (const [key, value] of Object.entries(content)) {
      const name = ALIASES[key] ?? key;
      if (typeof value === "string" || typeof value === "number") {
        merged.set(name, { value: String(value), file: path });
      }
    }
  }
  const text = (key: string) => merged.get(key)?.value || null;
  const [server, token] = [merged.get("server"), merged.get("token")];
  return ok({
    server: server === undefined || server.value === ""
      ? null
      : { url: server.value, file: server.file },
    token: token === undefined || token.value === ""
      ? null
      : { value: new Secret(token.value), file: token.file },
    tokenFile: text("token-file"),
    nodeName: text("node-name"),
    snapshotDirectory: text("etcd-snapshot-dir"),
  });
}

/** k3s's own short forms of these flags; one with a plus sign is joined to what was there. */
const ALIASES: Readonly<Record<string, string>> = {
  "s": "server",
  "server+": "server",
  "t": "token",
  "token+": "token",
};

function contentOf(text: string): JsonObject | null {
  try {
    // The library compares each key with all others, and counts lines for each of its errors.
    const document = parseDocument(text, {
      version: "1.1",
      logLevel: "silent",
      uniqueKeys: false,
      prettyErrors: false,
    });
    if (document.errors.length > 0) return null;
    const keys = isMap(document.contents)
      ? document.contents.items.map(({ key }) => isScalar(key) ? String(key.value) : null)
      : [];
    if (new Set(keys).size < keys.length) return null;
    const content: unknown = document.toJS();
    if (content === null) return {};
    return isJsonObject(content as JsonObject) ? content as JsonObject : null;
  } catch {
    // Nested without end, or aliases of aliases that would fill the memory.
    return null;
  }
}
