import { DROP_IN_PATHS, type DropIn, dropIns } from "../host/drop_ins.ts";
import {
  isOwnRegistries,
  REGISTRIES_PATH,
  type RegistriesDeed,
  registriesDeed,
  registriesFile,
} from "../host/registries.ts";
import { type DropInHashes, dropInHashes } from "../host/restart.ts";
import type { Disk } from "../ports/disk.ts";
import type { HostSettings } from "../protocol/desired_state.ts";
import { openSealed, type SealingKey } from "../protocol/sealing.ts";
import { fail, ok, type Result } from "../result.ts";
import { Secret } from "../secret.ts";
import { writeDocument } from "../state/durable.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";

/** Drop-ins are small; a larger file is not one of ours. */
const MAX_DROP_IN_BYTES = 64 * 1024;
/** A desired state fits a body of 256 KiB, and a character of a secret may take six in the file. */
const MAX_REGISTRIES_BYTES = 2 * 1024 * 1024;
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The files of k3s's configuration that the host settings become. */
export interface HostFiles {
  /** Brings them to what `host` says; gives the hashes of what k3s would read now. */
  bring(context: BoundContext, host: HostSettings): Promise<DropInHashes>;
  /** The hashes of those that are on the disk. */
  hashes(disk: Disk): Promise<DropInHashes>;
}

/** What is made once and hashed once: a cycle in which nothing differs only reads. */
export function openHostFiles(): HostFiles {
  const hashesOf = openHasher();
  let made: { readonly of: HostSettings; readonly files: WantedFiles } | null = null;

  function wanted(host: HostSettings, keys: readonly SealingKey[]): WantedFiles {
    if (made?.of === host) return made.files;
    const files = wantedFiles(host, keys);
    made = { of: host, files };
    return files;
  }

  return {
    async bring(context, host) {
      const { disk } = context.ports;
      const files = wanted(host, context.identity.sealingKeys);
      let isThere = true;
      for (const file of files.dropIns) isThere = await bringDropIn(context, file) && isThere;
      const registries = await bringRegistries(context, files.registries);
      // What was read to be compared need not be read again to be hashed.
      return isThere && registries !== "unknown"
        ? hashesOf([...files.dropIns, ...registries])
        : await readDropInHashes(disk, hashesOf);
    },
    hashes: (disk) => readDropInHashes(disk, hashesOf),
  };
}

/** What the files have to be. */
interface WantedFiles {
  readonly dropIns: readonly DropIn[];
  /** Null: none. The error is for people. */
  readonly registries: Result<Secret<DropIn> | null, string>;
}

function wantedFiles(host: HostSettings, keys: readonly SealingKey[]): WantedFiles {
  const { registries } = host;
  return {
    dropIns: dropIns(host),
    registries: registries === undefined
      ? ok(null)
      : registriesFile(registries, (box) => openSealed(box, keys)),
  };
}

/** Hashes files, each content once. */
function openHasher(): typeof dropInHashes {
  let last = new Secret<readonly DropIn[]>([]);
  let hashes = dropInHashes([]);
  return (files) => {
    const before = last.reveal();
    const isSame = files.length === before.length &&
      files.every(({ path, content }, at) =>
        path === before[at]?.path && content === before[at].content
      );
    if (!isSame) {
      hashes = dropInHashes(files);
      last = new Secret(files);
    }
    return hashes;
  };
}

/** The hashes of the agent's files as they are on the disk. A person's registries.yaml is none of them. */
export async function readDropInHashes(
  disk: Disk,
  hashesOf = dropInHashes,
): Promise<DropInHashes> {
  const files: DropIn[] = [];
  for (const path of DROP_IN_PATHS) {
    const content = await readText(disk, path, MAX_DROP_IN_BYTES);
    if (content.ok && content.value !== null) files.push({ path, content: content.value });
  }
  const content = await readText(disk, REGISTRIES_PATH, MAX_REGISTRIES_BYTES);
  if (content.ok && content.value !== null && isOwnRegistries(content.value)) {
    files.push({ path: REGISTRIES_PATH, content: content.value });
  }
  return hashesOf(files);
}

/** One difference between the disk and what is wanted. It shows nothing of a content. */
export interface HostChange {
  readonly action: "write" | "remove" | "keep";
  readonly path: string;
  readonly why: string;
}

/** What there is to say of the registries of a node. It holds no credentials. */
export interface RegistriesStatus {
  /** Those that are mirrored, each with its endpoints. */
  readonly mirrors: Readonly<Record<string, readonly string[]>>;
  /** Those that have credentials. */
  readonly credentials: readonly string[];
  /** `own`: the agent's; `absent`: it is not written yet; `foreign`: a person's, so they do not apply. */
  readonly file: "own" | "absent" | "foreign";
}

/** The registries that are wanted; null where there are none. */
export async function readRegistries(disk: Disk, state: State): Promise<RegistriesStatus | null> {
  const registries = state.desired?.state.host.registries;
  if (registries === undefined) return null;
  const { mirrors = {}, configs = {} } = registries;
  const found = await readText(disk, REGISTRIES_PATH, MAX_REGISTRIES_BYTES);
  const text = found.ok ? found.value : "";
  return {
    mirrors: Object.fromEntries(
      Object.entries(mirrors).map(([host, { endpoint }]) => [host, endpoint]),
    ),
    credentials: Object.keys(configs),
    file: text === null ? "absent" : isOwnRegistries(text) ? "own" : "foreign",
  };
}

/** What the next cycle would do about the files. The error is for people. */
export async function planHostFiles(
  disk: Disk,
  state: State,
  host: HostSettings,
  keys: readonly SealingKey[],
): Promise<Result<readonly HostChange[], string>> {
  const files = wantedFiles(host, keys);
  const changes: HostChange[] = [];
  for (const { path, content } of files.dropIns) {
    const found = await readText(disk, path, MAX_DROP_IN_BYTES);
    if (found.ok && found.value === content) continue;
    const why = found.ok && found.value === null ? MISSING : DIFFERS;
    changes.push({ action: "write", path, why });
  }
  if (!files.registries.ok) return files.registries;
  const looked = await lookAtRegistries(disk, state, files.registries.value);
  if (!looked.ok) return looked;
  const { deed, isThere } = looked.value;
  if (deed === "nothing") return ok(changes);
  const why = {
    write: isThere ? DIFFERS : MISSING,
    remove: "the desired state has no host.registries",
    keep: "pbx-agent did not write it, so host.registries do not apply",
  };
  return ok([...changes, { action: deed, path: REGISTRIES_PATH, why: why[deed] }]);
}

const MISSING = "it is not there";
const DIFFERS = "it is not as the desired state says";

/** Whether the file was there as it has to be; else it is written. */
async function bringDropIn(context: BoundContext, { path, content }: DropIn): Promise<boolean> {
  const found = await readText(context.ports.disk, path, MAX_DROP_IN_BYTES);
  if (found.ok && found.value === content) return true;
  await write(context, path, content);
  return false;
}

/** The file as it is there now, where that is known. */
async function bringRegistries(
  context: BoundContext,
  wanted: WantedFiles["registries"],
): Promise<readonly DropIn[] | "unknown"> {
  const { disk, log } = context.ports;
  const looked = wanted.ok
    ? await lookAtRegistries(disk, context.store.state, wanted.value)
    : wanted;
  if (!looked.ok) {
    log.write("error", "registries_not_written", looked.error);
    return "unknown";
  }
  const { deed } = looked.value;
  if (deed === "keep") {
    await raiseCondition(
      context,
      "k3s_setting_refused",
      `${REGISTRIES_PATH} was not written by pbx-agent and stays as it is, so mirrors and configs of ` +
        "host.registries do not apply: remove the file, or take host.registries out of the " +
        "desired state",
    );
    return "unknown";
  }
  await clearConditions(context, "k3s_setting_refused");
  const file = wanted.ok ? wanted.value : null;
  if (deed === "nothing") return file === null ? [] : [file.reveal()];
  if (deed === "write" && file !== null) {
    await write(context, REGISTRIES_PATH, file.reveal().content);
  } else {
    await remove(context);
  }
  return "unknown";
}

async function lookAtRegistries(
  disk: Disk,
  state: State,
  wanted: Secret<DropIn> | null,
): Promise<Result<{ readonly deed: RegistriesDeed; readonly isThere: boolean }, string>> {
  const found = await readText(disk, REGISTRIES_PATH, MAX_REGISTRIES_BYTES);
  if (!found.ok) return found;
  const deed = registriesDeed({
    wanted: wanted?.reveal().content ?? null,
    found: found.value,
    wasOwn: state.k3s_drop_ins?.[REGISTRIES_PATH] !== undefined,
  });
  return ok({ deed, isThere: found.value !== null });
}

async function write({ ports }: BoundContext, path: string, content: string): Promise<void> {
  const written = await writeDocument(ports.disk, path, new TextEncoder().encode(content));
  if (written.ok) {
    ports.log.write("info", "drop_in_written", `${path} is what the desired state says`);
  } else {
    ports.log.write("error", "drop_in_not_written", written.error.message);
  }
}

/** Also what a write that was cut short left: it has the same secrets. */
async function remove({ ports: { disk, log } }: BoundContext): Promise<void> {
  for (const path of [`${REGISTRIES_PATH}.tmp`, REGISTRIES_PATH]) {
    const removed = await disk.remove(path);
    if (!removed.ok) {
      log.write("error", "registries_not_removed", removed.error.message);
      return;
    }
  }
  log.write(
    "info",
    "registries_removed",
    `${REGISTRIES_PATH} is gone: the desired state has no host.registries`,
  );
}

/** A file's text; null where it is not there. One that is too large is a text that nobody wrote here. */
async function readText(
  disk: Disk,
  path: string,
  maxBytes: number,
): Promise<Result<string | null, string>> {
  const read = await disk.read(path, maxBytes);
  if (read.ok) return ok(read.value === null ? null : UTF8.decode(read.value));
  return read.error.code === "too_large" ? ok("") : fail(read.error.message);
}
