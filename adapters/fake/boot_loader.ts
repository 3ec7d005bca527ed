import type { Boot, BootedImage, BootEntry, BootError } from "../../core/ports/boot.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { FakeDisk } from "./disk.ts";

/** A file of an image, as the fake loader takes it for whole. */
export function fakeImage(release: string, filler = 64): Uint8Array {
  return new TextEncoder().encode(`UKI ${release} ${".".repeat(filler)}${WHOLE}`);
}

/** What a whole image ends with. */
const WHOLE = "<end of image>";

/** What became of a power-on: an image starts, or the firmware found nothing that it could start. */
export type PowerOn =
  | { readonly kind: "image"; readonly entry: string; readonly release: string }
  | { readonly kind: "shell" };

/** How a machine with systemd-boot is made. */
export interface FakeLoaderOptions {
  readonly disk: FakeDisk;
  /** Of systemd-boot, 252 to 262; 257 unless told. */
  readonly version?: number;
  /** Where the ESP is mounted; /boot unless told. */
  readonly esp?: string;
  /** Room on the ESP, bytes. */
  readonly espBytes?: number;
}

/** A machine's firmware, its systemd-boot and its ESP, which lies on a fake disk. */
export interface FakeLoader extends Boot {
  /** The EFI variables of the boot loader, by name. */
  readonly variables: Map<string, string>;
  /** The firmware's own entry, `Linux Boot Manager`, in its boot order. */
  firmwareEntry: boolean;
  espBytes: number;
  /** The next call that sets a variable fails, or says that it did it and did nothing. */
  breakNext(how: "failed" | "not_set"): void;
  /** Takes the firmware and the loader through a boot. */
  powerOn(): PowerOn;
  /** Puts an image on the ESP, synced. */
  putImage(name: string, bytes: Uint8Array): void;
}

const LOADER = "EFI/systemd/systemd-bootx64.efi";
const FALLBACK = "EFI/BOOT/BOOTX64.EFI";
/** The first version whose boot stub tells which image it is of (boot facts, Which UKI booted). */
const STUB_TELLS = 257;

/**
 * A machine that starts as systemd-boot 252 to 262 was seen to (boot facts). It is off at first.
 *
 * The one-shot entry is taken away before the image starts, and beats the default. An id that is not
 * there is ignored. Without a pinned default the highest version starts. An image that is not whole does
 * not start: the loader goes back to the firmware, which tries `EFI/BOOT` next, and has nothing after it.
 */
export function createFakeLoader(options: FakeLoaderOptions): FakeLoader {
  const { disk, version = 257, esp = "/boot" } = options;
  const folder = `${esp}/EFI/Linux`;
  const variables = new Map<string, string>();
  let broken: BootError["code"] | null = null;

  const idOf = (file: string) => file.toLowerCase();

  function images(): { readonly id: string; readonly path: string }[] {
    return disk.paths().filter((path) =>
      path.startsWith(`${folder}/`) && /^[^/]+\.efi$/i.test(path.slice(folder.length + 1))
    ).map((path) => ({ id: idOf(path.slice(folder.length + 1)), path }));
  }

  function chosen(oneShot: string | undefined): { id: string; path: string } | undefined {
    const there = images();
    const named = (id: string | undefined) => there.find((image) => image.id === id);
    return named(oneShot) ?? named(variables.get("LoaderEntryDefault")) ??
      there.toSorted((a, b) => compareAsVersions(b.id, a.id))[0];
  }

  /** The loader, started from a file on the ESP. Null: back to the firmware. */
  function runLoader(file: string): PowerOn | null {
    if (disk.text(`${esp}/${file}`) === null) return null;
    variables.set("LoaderInfo", `systemd-boot ${version}`);
    variables.set("LoaderImageIdentifier", `/${file}`);
    const oneShot = variables.get("LoaderEntryOneShot");
    const image = chosen(oneShot);
    variables.delete("LoaderEntryOneShot");
    if (image === undefined) return null;
    variables.set("LoaderEntrySelected", image.id);
    const text = disk.text(image.path) ?? "";
    if (!text.endsWith(WHOLE)) return null;
    if (version >= STUB_TELLS) variables.set("StubImageIdentifier", `/EFI/Linux/${image.id}`);
    return { kind: "image", entry: image.id, release: text.split(" ")[1] ?? "" };
  }

  function set(name: string, id: string | null): Promise<Result<void, BootError>> {
    if (id !== null && !/^[a-z0-9][a-z0-9.-]*$/.test(id)) {
      throw new RangeError(`"${id}" is no id of a boot entry that may be set`);
    }
    const code = broken;
    broken = null;
    if (code !== null) {
      return Promise.resolve(fail({ code, message: "the firmware does not do it" }));
    }
    if (id === null) variables.delete(name);
    else variables.set(name, id);
    return Promise.resolve(ok(undefined));
  }

  const loader: FakeLoader = {
    variables,
    firmwareEntry: true,
    espBytes: options.espBytes ?? 1024 ** 3,
    breakNext: (how) => void (broken = how),
    putImage: (name, bytes) => disk.put(`${folder}/${name}`, bytes, 0o777),
    powerOn() {
      for (const name of ["LoaderEntrySelected", "LoaderImageIdentifier", "StubImageIdentifier"]) {
        variables.delete(name);
      }
      const first = loader.firmwareEntry ? runLoader(LOADER) : null;
      return first ?? runLoader(FALLBACK) ?? { kind: "shell" };
    },
    async booted(): Promise<BootedImage> {
      const stub = variables.get("StubImageIdentifier")?.split("/").at(-1);
      const entry = stub ?? variables.get("LoaderEntrySelected") ?? null;
      const path = images().find(({ id }) => id === entry)?.path;
      const hash = path === undefined ? null : await disk.sha256(path);
      return { entry, sha256: hash?.ok === true ? hash.value : null };
    },
    look() {
      const used = disk.paths().filter((path) => path.startsWith(`${esp}/`))
        .reduce((sum, path) => sum + (disk.text(path) ?? "").length, 0);
      const entries: BootEntry[] = images();
      return Promise.resolve(ok({
        esp,
        freeBytes: Math.max(0, loader.espBytes - used),
        loader: variables.get("LoaderInfo") ?? null,
        loaderFile: variables.get("LoaderImageIdentifier") ?? null,
        entries,
        oneShot: variables.get("LoaderEntryOneShot") ?? null,
        default: variables.get("LoaderEntryDefault") ?? null,
        firmwareEntry: loader.firmwareEntry && disk.text(`${esp}/${LOADER}`) !== null,
        fallbackLoader: disk.text(`${esp}/${FALLBACK}`) !== null,
      }));
    },
    setOneShot: (id) => set("LoaderEntryOneShot", id),
    setDefault: (id) => set("LoaderEntryDefault", id),
  };
  for (const file of [LOADER, FALLBACK]) {
    disk.put(`${esp}/${file}`, `systemd-boot ${version}`, 0o777);
  }
  disk.put(`${esp}/loader/loader.conf`, "timeout 0\n", 0o777);
  return loader;
}

/** Runs of digits by their number, everything else by its text, as the loader sorts. */
function compareAsVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.match(/\d+|\D+/g) ?? []);
  for (let index = 0; index < Math.min(left?.length ?? 0, right?.length ?? 0); index++) {
    const [one = "", other = ""] = [left?.[index], right?.[index]];
    const areNumbers = /^\d/.test(one) && /^\d/.test(other);
    const order = areNumbers ? Number(one) - Number(other) : one < other ? -1 : one > other ? 1 : 0;
    if (order !== 0) return order;
  }
  return (left?.length ?? 0) - (right?.length ?? 0);
}
