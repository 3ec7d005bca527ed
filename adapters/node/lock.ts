import { fail, ok, type Result } from "../../core/result.ts";
import { createRoot } from "./root.ts";

/** A lock that is held until the process ends, however it ends: the kernel lets go of it. */
export interface Lock {
  release(): void;
}

/** Why the lock was not had. `held`: another process has it; its ID where that could be read. */
export type LockError =
  | { readonly code: "held"; readonly pid: number | null }
  | { readonly code: "io"; readonly message: string };

/**
 * Somebody who looks whether the lock is held takes it for an instant: only what is held for longer is
 * another agent's. Milliseconds; and how often it is tried within them.
 */
const PATIENCE_MS = 1_000;
const TRY_MS = 50;
/** After this long, milliseconds, a lock that was not had is another's. */
const GLANCE_MS = 250;

/** Takes the lock on a file (flock), which is made with mode 0600 and then names this process. */
export async function takeLock(
  path: string,
  options: { readonly root?: string } = {},
): Promise<Result<Lock, LockError>> {
  const real = createRoot(options.root)(path);
  const opened = await openLockFile(real);
  if (!opened.ok) return opened;
  const { file, writable } = opened.value;
  let isOurs = await tryLock(file, true);
  for (let waited = 0; !isOurs && canTry(file) && waited < PATIENCE_MS; waited += TRY_MS) {
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
    isOurs = await tryLock(file, true);
  }
  if (!isOurs) {
    file.close();
    return fail({ code: "held", pid: await readPid(real) });
  }
  if (writable) await writePid(file);
  return ok({ release: () => file.close() });
}

/** Whether a process holds the lock now, and which. Takes it for an instant where nobody does. */
export async function lockHolder(
  path: string,
  options: { readonly root?: string } = {},
): Promise<{ readonly held: boolean; readonly pid: number | null }> {
  const real = createRoot(options.root)(path);
  let file: Deno.FsFile;
  try {
    file = await Deno.open(real, { read: true });
  } catch {
    return { held: false, pid: null };
  }
  // Shared, so that two who look do not take each other for the agent.
  const free = await tryLock(file, false);
  file.close();
  return free ? { held: false, pid: null } : { held: true, pid: await readPid(real) };
}

/**
 * Whether another process holds the lock; false where there is no such file. Where one does, `onHeld` is
 * called, and this returns when it lets go, after `patienceMs` (milliseconds) at the latest.
 */
export async function isHeldFor(
  path: string,
  options: {
    readonly root?: string;
    readonly patienceMs: number;
    readonly onHeld: () => void;
  },
): Promise<boolean> {
  const real = createRoot(options.root)(path);
  let file: Deno.FsFile;
  try {
    file = await Deno.open(real, { read: true });
  } catch {
    return false;
  }
  const had = file.lock(false);
  const isFree = await isWithin(had, GLANCE_MS);
  if (!isFree) {
    options.onHeld();
    await isWithin(had, options.patienceMs);
  }
  file.close();
  return !isFree;
}

async function isWithin(had: Promise<void>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  // What cannot be locked is held by nobody.
  const end = await Promise.race([had.then(() => true, () => true), late]);
  clearTimeout(timer);
  return end;
}

/** Deno 2.6 can only wait for a lock, so there the waiting is cut short. */
async function tryLock(file: Deno.FsFile, exclusive: boolean): Promise<boolean> {
  const { tryLock } = file as MayTry;
  if (tryLock !== undefined) return await tryLock.call(file, exclusive);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PATIENCE_MS);
  });
  const had = await Promise.race([file.lock(exclusive).then(() => true, () => false), late]);
  clearTimeout(timer);
  return had;
}

interface MayTry {
  readonly tryLock?: (exclusive: boolean) => Promise<boolean>;
}

function canTry(file: Deno.FsFile): boolean {
  return (file as MayTry).tryLock !== undefined;
}

async function openLockFile(
  path: string,
): Promise<Result<{ file: Deno.FsFile; writable: boolean }, LockError>> {
  try {
    const file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
    return ok({ file, writable: true });
  } catch (first) {
    // On a full or read-only disk an existing file can still be locked.
    try {
      return ok({ file: await Deno.open(path, { read: true }), writable: false });
    } catch {
      const why = first instanceof Error ? first.message : String(first);
      return fail({ code: "io", message: `the lock ${path} cannot be opened: ${why}` });
    }
  }
}

async function writePid(file: Deno.FsFile): Promise<void> {
  try {
    await file.truncate();
    await file.write(new TextEncoder().encode(`${Deno.pid}\n`));
  } catch {
    // The number is for people; the lock itself is held.
  }
}

async function readPid(path: string): Promise<number | null> {
  const text = await Deno.readTextFile(path).catch(() => "");
  return /^[0-9]+\n$/.test(text) ? Number(text) : null;
}
