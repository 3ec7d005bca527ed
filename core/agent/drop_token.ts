import { withoutToken } from "../state/config.ts";
import { writeDocument } from "../state/durable.ts";
import { CONFIG_FILE } from "../state/paths.ts";
import type { BoundContext } from "./context.ts";

/**
 * Takes the used token out of the configuration and leaves the rest as it is (operations.md, First
 * start, step 4). A configuration that names another node is not ours to change. True when nothing is
 * left to do.
 */
export async function dropToken({ ports, config, binding }: BoundContext): Promise<boolean> {
  const ours = config.clusterId === binding.cluster_id && config.nodeName === binding.node_name;
  if (config.enrollmentToken === undefined || !ours) return true;
  const read = await ports.disk.read(CONFIG_FILE);
  if (!read.ok) ports.log.write("error", "token_not_deleted", read.error.message);
  if (!read.ok || read.value === null) return read.ok;
  const bytes = bytesWithoutToken(read.value);
  if (bytes === null) return true;
  const written = await writeDocument(ports.disk, CONFIG_FILE, bytes);
  if (written.ok) {
    ports.log.write("info", "token_deleted", `the used token is gone from ${CONFIG_FILE}`);
  } else {
    ports.log.write("error", "token_not_deleted", written.error.message);
  }
  return written.ok;
}

function bytesWithoutToken(bytes: Uint8Array): Uint8Array | null {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const text = withoutToken(decoder.decode(bytes));
    return text === null ? null : new TextEncoder().encode(text);
  } catch {
    // A comment in another encoding stays as it is: a character for each byte, and back.
    const text = withoutToken(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    return text === null ? null : Uint8Array.from(text, (character) => character.charCodeAt(0));
  }
}
