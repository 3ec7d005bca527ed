import assert from "node:assert/strict";
import {
  droppedEntries,
  entryOfRelease,
  imageFolder,
  isPart,
  partPath,
  releaseOfEntry,
  slotsOf,
  type UpgradeUnderWay,
} from "../../../core/host/slots.ts";
import type { BootView } from "../../../core/ports/boot.ts";

const OLD = "pbx-1.0.0-amd64.efi";
const NEW = "pbx-1.1.0-amd64.efi";
const OLDER = "pbx-0.9.0-amd64.efi";

function view(change: Partial<BootView> = {}): BootView {
  const entries = [OLD, NEW, OLDER].map((id) => ({ id, path: `/boot/EFI/Linux/${id}` }));
  return {
    esp: "/boot",
    freeBytes: 5_000,
    loader: "systemd-boot 257",
    loaderFile: null,
    entries: [...entries, { id: "auto-reboot-to-firmware-setup", path: null }],
    oneShot: null,
    default: OLD,
    firmwareEntry: true,
    fallbackLoader: true,
    ...change,
  };
}

Deno.test("entryOfRelease: lower case, and a dash for what loaders understand differently", () => {
  for (
    const [release, entry] of [
      ["1.4.0", "pbx-1.4.0-amd64.efi"],
      ["1.4.0-RC.1+k3s1", "pbx-1.4.0-rc.1-k3s1-amd64.efi"],
      ["2026-Q1", "pbx-2026-q1-amd64.efi"],
    ] as const
  ) {
    assert.equal(entryOfRelease(release, "amd64"), entry);
    assert.match(entry, /^[a-z0-9.-]+$/);
    assert.equal(releaseOfEntry(entry), entry.slice(4, -10));
  }
  assert.equal(entryOfRelease("1.4.0", "arm64"), "pbx-1.4.0-arm64.efi");
  for (const other of ["debian-12.efi", "pbx-1.4.0.efi", `${OLD}.part`, "pbx--amd64.efi"]) {
    assert.equal(releaseOfEntry(other), null, other);
  }
});

Deno.test("partPath: a name that no loader takes, in the folder of the images", () => {
  assert.equal(imageFolder("/boot"), "/boot/EFI/Linux");
  assert.equal(imageFolder("/"), "/EFI/Linux");
  const path = partPath("/efi", NEW);
  assert.equal(path, `/efi/EFI/Linux/${NEW}.part`);
  assert.ok(!path.endsWith(".efi"));
  assert.ok(isPart(`${NEW}.part`));
  assert.ok(isPart(`${NEW.toUpperCase()}.part`));
  for (const other of [NEW, "debian.efi.part", ".part", "x.part"]) assert.ok(!isPart(other), other);
});

Deno.test("droppedEntries: the agent's images but for those that stay; nobody else's", () => {
  const entries = [
    ...view().entries,
    { id: "debian-12.efi", path: "/boot/EFI/Linux/debian-12.efi" },
    { id: "pbx-0.8.0-amd64.efi", path: null },
  ];
  const dropped = droppedEntries({ entries }, [NEW, OLD]);
  assert.deepEqual(dropped, [{ id: OLDER, path: `/boot/EFI/Linux/${OLDER}` }]);
});

const UPGRADE: UpgradeUnderWay = { to: "1.1.0+x", entry: NEW, step: "fetch_image" };

/** What the loader has, what booted, the upgrade under way, and what is said to come next. */
const NEXT: readonly (readonly [Partial<BootView>, string, UpgradeUnderWay | null, RegExp])[] = [
  [{}, OLD, null, /^the next boot starts the image that runs$/],
  [{ default: null }, OLD, null, /^the next boot starts the image with the highest version$/],
  [{ default: "gone.efi" }, OLD, null, /highest version$/],
  [{ default: NEW }, OLD, null, /^the next boot starts pbx-1\.1\.0-amd64\.efi$/],
  [{ oneShot: OLDER }, OLD, null, /^the next boot starts pbx-0\.9\.0-amd64\.efi, once$/],
  [{ oneShot: "gone.efi" }, OLD, null, /^the next boot starts the image that runs$/],
  [
    {},
    OLD,
    UPGRADE,
    /^the upgrade to 1\.1\.0\+x is at fetch_image; until it restarts the node, the/,
  ],
  [
    { oneShot: NEW },
    OLD,
    { ...UPGRADE, step: "reboot" },
    /^the next boot tries pbx-1\.1\.0.*, once; any other goes back to pbx-1\.0\.0-amd64\.efi$/,
  ],
  [
    {},
    NEW,
    { ...UPGRADE, step: "health_gate" },
    /^pbx-1\.1\.0.* is on trial: .*; any boot before that starts pbx-1\.0\.0-amd64\.efi$/,
  ],
  [
    { default: NEW },
    NEW,
    { ...UPGRADE, step: "commit" },
    /is at commit: its image is the default$/,
  ],
];

Deno.test("slotsOf: says what happens next", () => {
  for (const [change, entry, upgrade, words] of NEXT) {
    const { next } = slotsOf(view(change), { entry, sha256: null }, new Map(), upgrade);
    assert.match(next, words);
  }
});

Deno.test("slotsOf: which image is in which slot, and of which release", () => {
  const releases = new Map([[NEW, "1.1.0+x"]]);
  const slots = slotsOf(view({ oneShot: NEW }), { entry: OLD, sha256: null }, releases, null);
  assert.deepEqual(slots.booted, { entry: OLD, release: "1.0.0" });
  assert.deepEqual(slots.default, { entry: OLD, release: "1.0.0" });
  assert.deepEqual(slots.one_shot, { entry: NEW, release: "1.1.0+x" });
  assert.deepEqual(slots.others, [{ entry: OLDER, release: "0.9.0" }]);
  assert.equal(slots.esp_free_bytes, 5_000);
  const unknown = slotsOf(view({ default: null }), { entry: null, sha256: null }, new Map(), null);
  assert.deepEqual([unknown.booted, unknown.default, unknown.one_shot], [null, null, null]);
  assert.equal(unknown.others.length, 3);
});
