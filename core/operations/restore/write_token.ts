import { isMap, parseDocument, Scalar } from "yaml";
import type { Ports } from "../../ports/mod.ts";
import { fail, ok, type Result } from "../../result.ts";
import { Secret } from "../../secret.ts";
import { writeDocument } from "../../state/durable.ts";
import { K3S_CONFIG_FILE } from "../../state/paths.ts";
import { readK3sSettings } from "../../host/k3s_settings.ts";
import { forGood, type Refusal, refusalOf } from "../patiently.ts";
import { configuredToken, sameToken } from "./tokens.ts";

const MAX_BYTES = 1024 * 1024;

/**
 * Makes a token the configured one: in k3s's config.yaml, whose other lines stay as they are. Writes
 * nothing where it is that already. The error is for people.
 */
export async function writeToken(ports: Ports, token: Secret): Promise<Result<void, Refusal>> {
  if (await isConfigured(ports, token)) return ok(undefined);
  const read = await ports.disk.read(K3S_CONFIG_FILE, MAX_BYTES);
  if (!read.ok) return fail(refusalOf(read.error));
  const text = read.value === null ? "" : new TextDecoder().decode(read.value);
  const changed = withToken(text, token);
  if (changed === null) return forGood(`${K3S_CONFIG_FILE} is not a YAML mapping`);
  const bytes = new TextEncoder().encode(changed.reveal());
  const written = await writeDocument(ports.disk, K3S_CONFIG_FILE, bytes);
  if (!written.ok) return fail(refusalOf(written.error));
  if (await isConfigured(ports, token)) return ok(undefined);
  return forGood(`another file of k3s's configuration sets a token after ${K3S_CONFIG_FILE}`);
}

/** The text of a config.yaml with this token in it; null where it is no YAML mapping. */
export function withToken(text: string, token: Secret): Secret | null {
  const document = parseDocument(text, { version: "1.1", logLevel: "silent" });
  if (document.errors.length > 0) return null;
  const { contents } = document;
  if (contents === null) return new Secret(`token: ${JSON.stringify(token.reveal())}\n`);
  if (!isMap(contents)) return null;
  const value = new Scalar(token.reveal());
  value.type = Scalar.QUOTE_DOUBLE;
  for (const key of ["t", "token-file"]) document.delete(key);
  document.set("token", value);
  return new Secret(document.toString({ lineWidth: 0, doubleQuotedAsJSON: true }));
}

async function isConfigured(ports: Ports, token: Secret): Promise<boolean> {
  const settings = await readK3sSettings(ports.disk);
  if (!settings.ok) return false;
  const configured = await configuredToken(ports, settings.value);
  return configured.ok && configured.value !== null && sameToken(configured.value, token);
}
