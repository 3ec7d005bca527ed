import assert from "node:assert/strict";
import type { Boot, BootView } from "../../core/ports/boot.ts";

/** The images of a machine of this contract; the first booted. */
export const IMAGES = ["pbx-1.0.0-amd64.efi", "pbx-0.9.0-amd64.efi"] as const;

/** A machine with systemd-boot, what changes behind the adapter's back, and its end. */
export interface LoaderMachine {
  readonly boot: Boot;
  /** Puts a file into the images' folder of the ESP. */
  put(name: string): Promise<void>;
  /** What there is of the ways from the firmware to the loader. */
  ways(ways: { readonly firmwareEntry: boolean; readonly fallbackLoader: boolean }): Promise<void>;
  /** The next variable that is set fails, or is not kept. */
  breakNext(how: "failed" | "not_set"): Promise<void>;
  close(): Promise<void>;
}

async function viewOf(boot: Boot): Promise<BootView> {
  const view = await boot.look();
  assert.ok(view.ok, JSON.stringify(view));
  return view.value;
}

/** What every {@link Boot} does with a loader that can be asked. */
export function bootLoaderContract(name: string, open: () => Promise<LoaderMachine>): void {
  const test = (what: string, work: (machine: LoaderMachine) => Promise<void>) =>
    Deno.test(`boot loader (${name}): ${what}`, async () => {
      const machine = await open();
      try {
        await work(machine);
      } finally {
        await machine.close();
      }
    });

  test("shows its entries with their files, and nothing set", async ({ boot }) => {
    const view = await viewOf(boot);
    assert.equal(view.esp, "/boot");
    assert.ok(view.freeBytes > 0);
    assert.match(view.loader ?? "", /^systemd-boot 2\d\d/);
    assert.equal(view.loaderFile?.toLowerCase(), "/efi/systemd/systemd-bootx64.efi");
    const images = view.entries.filter(({ path }) => path !== null);
    assert.deepEqual(
      images.toSorted((a, b) => a.id < b.id ? 1 : -1),
      IMAGES.map((id) => ({ id, path: `/boot/EFI/Linux/${id}` })),
    );
    assert.deepEqual([view.oneShot, view.default], [null, null]);
    assert.deepEqual([view.firmwareEntry, view.fallbackLoader], [true, true]);
  });

  test("offers an image as soon as its file has its name", async ({ boot, put }) => {
    await put("pbx-1.1.0-amd64.efi.part");
    const ids = async () => (await viewOf(boot)).entries.map(({ id }) => id);
    assert.ok(!(await ids()).some((id) => id.includes("1.1.0")));
    await put("pbx-1.1.0-amd64.efi");
    assert.ok((await ids()).includes("pbx-1.1.0-amd64.efi"));
  });

  test("keeps a default and a next boot apart, until they are taken back", async ({ boot }) => {
    const [from, older] = IMAGES;
    assert.ok((await boot.setDefault(from)).ok);
    assert.ok((await boot.setOneShot(older)).ok);
    const set = await viewOf(boot);
    assert.deepEqual([set.default, set.oneShot], [from, older]);
    assert.ok((await boot.setOneShot(null)).ok);
    assert.ok((await boot.setOneShot(null)).ok, "again");
    assert.ok((await boot.setDefault(older)).ok);
    const changed = await viewOf(boot);
    assert.deepEqual([changed.default, changed.oneShot], [older, null]);
    assert.ok((await boot.setDefault(null)).ok);
    assert.equal((await viewOf(boot)).default, null);
  });

  test("believes no word of success", async ({ boot, breakNext }) => {
    for (const how of ["failed", "not_set"] as const) {
      await breakNext(how);
      const set = await boot.setOneShot(IMAGES[1]);
      assert.equal(set.ok ? "" : set.error.code, how);
    }
    assert.equal((await viewOf(boot)).oneShot, null);
    assert.ok((await boot.setOneShot(IMAGES[1])).ok);
  });

  test("sets no id that loaders understand differently", async ({ boot }) => {
    for (const id of ["", "-x.efi", "A.efi", "a+3.efi", "a*.efi", "../a.efi", "@saved"]) {
      for (const set of [boot.setOneShot, boot.setDefault]) {
        await assert.rejects(async () => await set(id), RangeError, id);
      }
    }
  });

  test("tells which ways lead from the firmware to it", async ({ boot, ways }) => {
    for (const firmwareEntry of [true, false]) {
      for (const fallbackLoader of [true, false]) {
        await ways({ firmwareEntry, fallbackLoader });
        const view = await viewOf(boot);
        assert.deepEqual([view.firmwareEntry, view.fallbackLoader], [
          firmwareEntry,
          fallbackLoader,
        ]);
      }
    }
  });
}
