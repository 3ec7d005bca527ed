import { tokenHash } from "../../host/k3s_token.ts";
import type { K3sSettings } from "../../host/k3s_settings.ts";
import type { DiskError } from "../../ports/disk.ts";
import type { Ports } from "../../ports/mod.ts";
import { fail, ok, type Result } from "../../result.ts";
import { Secret } from "../../secret.ts";
import { PRIVATE_FILE, writeDocument } from "../../state/durable.ts";
import { K3S_TOKEN_FILE, RESTORE_DIRECTORY } from "../../state/paths.ts";

/** The copy of the token file, as it was before a restore. */
export const KEPT_TOKEN_FILE = `${RESTORE_DIRECTORY}/server-token`;
/** The token of the operation, for the time of the reset. */
export const GIVEN_TOKEN_FILE = `${RESTORE_DIRECTORY}/given-token`;

const MAX_BYTES = 64 * 1024;

/**
 * The token that k3s starts with now: of the configuration, of the file that it names, or else of
 * server/token. Null where there is none.
 */
export async function configuredToken(
  { disk }: Ports,
  settings: K3sSettings,
): Promise<Result<Secret | null, string>> {
  if (settings.token !== null) return ok(settings.token.value);
  const path = settings.tokenFile ?? K3S_TOKEN_FILE;
  const read = await disk.read(path, MAX_BYTES);
  if (!read.ok) return fail(read.error.message);
  const text = read.value === null ? "" : new TextDecoder().decode(read.value).trim();
  return ok(text === "" ? null : new Secret(text));
}

/** Whether two tokens are the same to k3s. */
export function sameToken(a: Secret, b: Secret): boolean {
  return tokenHash(a) === tokenHash(b);
}

/** Copies server/token before a reset, which overwrites it even with a wrong one (k3s lab). */
export async function keepServerToken({ disk }: Ports): Promise<Result<void, DiskError>> {
  const kept = await disk.stat(KEPT_TOKEN_FILE);
  if (kept.ok && kept.value !== null) return ok(undefined);
  const read = await disk.read(K3S_TOKEN_FILE, MAX_BYTES);
  if (!read.ok) return read;
  if (read.value === null) return ok(undefined);
  return await writeDocument(disk, KEPT_TOKEN_FILE, read.value, PRIVATE_FILE);
}

/** The copy of server/token is a secret in clear: it goes once nothing can need it any more. */
export async function forgetServerToken({ disk }: Ports): Promise<Result<void, DiskError>> {
  const removed = await disk.remove(KEPT_TOKEN_FILE);
  return removed.ok ? ok(undefined) : removed;
}

/** Puts server/token back where a failed reset changed it; true where it did. */
export async function putBackServerToken(
  { disk }: Ports,
): Promise<Result<boolean, DiskError>> {
  const [kept, now] = [await disk.read(KEPT_TOKEN_FILE), await disk.read(K3S_TOKEN_FILE)];
  if (!kept.ok) return kept;
  if (!now.ok) return now;
  if (kept.value === null) return ok(false);
  const text = (bytes: Uint8Array | null) =>
    bytes === null ? null : new TextDecoder().decode(bytes);
  if (text(kept.value) === text(now.value)) return ok(false);
  const written = await writeDocument(disk, K3S_TOKEN_FILE, kept.value, PRIVATE_FILE);
  return written.ok ? ok(true) : written;
}
