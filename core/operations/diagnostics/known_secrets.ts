import type { JsonValue } from "../../json.ts";
import { isJsonObject } from "../../json.ts";
import type { Disk } from "../../ports/disk.ts";
import { REGISTRIES_PATH } from "../../host/registries.ts";
import { decodeBase64 } from "../../protocol/base64.ts";
import { Secret } from "../../secret.ts";
import { BOOTSTRAP_FILE, CONFIG_FILE, IDENTITY_FILE, STATE_FILE } from "../../state/paths.ts";
import type { Redactor } from "../redact.ts";

/** Files whose every long word is a secret or part of one. */
const SECRET_FILES = [
  "/var/lib/rancher/k3s/server/token",
  "/var/lib/rancher/k3s/server/node-token",
  "/var/lib/rancher/k3s/server/agent-token",
  "/var/lib/rancher/k3s/server/cred/passwd",
  "/etc/rancher/node/password",
];
/** Files of settings, whose secrets stand behind certain keys. */
const SETTINGS_FILES = [
  "/etc/rancher/k3s/config.yaml",
  "/etc/rancher/k3s/k3s.yaml",
  REGISTRIES_PATH,
  CONFIG_FILE,
];
/** The agent's own files: every text in them that is long enough for a key. */
const OWN_FILES = [IDENTITY_FILE, BOOTSTRAP_FILE, STATE_FILE];

const SETTING =
  /(?:token|secret|passw(?:or)?d|key|key-data|auth)["']?[ \t]*[:=][ \t]*("[^"\n]*"|'[^'\n]*'|[^\s"',]+)/gi;

/** Opens a sealed box of the agent's own; null where it is none. */
export type OpenBox = (box: string) => Secret | null;

/**
 * Teaches the redactor every secret that lies on this node, so that none comes out even where a program
 * printed it in a form that no pattern knows. Read for this use only and kept nowhere.
 */
export async function learnSecrets(disk: Disk, redactor: Redactor, open: OpenBox): Promise<void> {
  for (const path of SECRET_FILES) {
    const words = await text(disk, path);
    for (const word of words.split(/[\s,:]+/)) know(redactor, word);
    know(redactor, words.trim());
  }
  for (const path of SETTINGS_FILES) {
    for (const [, value = ""] of (await text(disk, path)).matchAll(SETTING)) {
      know(redactor, unquoted(value));
      know(redactor, decoded(value));
    }
  }
  for (const path of OWN_FILES) {
    for (const value of keysIn(await text(disk, path))) {
      know(redactor, value);
      const opened = open(value);
      if (opened !== null) redactor.know(opened);
    }
  }
}

function unquoted(value: string): string {
  return value.replace(/^(["'])(.*)\1$/, "$2");
}

/** What a setting in base64 says, such as the key of a kubeconfig; empty where it is no such text. */
function decoded(value: string): string {
  const bytes = decodeBase64(value);
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}

/** Shorter words than this would black out half of any log. */
const MIN_SECRET = 12;

function know(redactor: Redactor, value: string): void {
  if (value.length >= MIN_SECRET) redactor.know(new Secret(value));
}

/** Every text of a JSON document that has the form of a key or of a sealed box. */
function keysIn(document: string): string[] {
  const found: string[] = [];
  const walk = (value: JsonValue): void => {
    if (typeof value === "string" && /^[A-Za-z0-9+/]{40,}={0,2}$/.test(value)) found.push(value);
    else if (Array.isArray(value)) value.forEach(walk);
    else if (isJsonObject(value)) Object.values(value).forEach(walk);
  };
  try {
    walk(JSON.parse(document));
  } catch {
    return [];
  }
  return found;
}

async function text(disk: Disk, path: string): Promise<string> {
  const read = await disk.read(path);
  return read.ok && read.value !== null ? new TextDecoder().decode(read.value) : "";
}
