import assert from "node:assert/strict";
import {
  ESP_RESERVE_BYTES,
  type PreflightFacts,
  preflightFindings,
  runningRelease,
} from "../../../../core/operations/upgrade/findings.ts";
import type { BootView } from "../../../../core/ports/boot.ts";
import type { Release } from "../../../../core/protocol/release.ts";
import { fail, ok } from "../../../../core/result.ts";

const FROM_ENTRY = "pbx-1.0.0-amd64.efi";
const IMAGE = { url: "https://dl.example.com/x.efi", sha256: "a".repeat(64), size: 1_000 };

const RELEASE: Release = {
  version: "1.1.0",
  created_at: "2026-01-01T00:00:00Z",
  agent: { version: "0.1.0", artifacts: {} },
  image: { k3s_version: "v1.37.1+k3s1", artifacts: { amd64: IMAGE } },
  addons: {},
};

const VIEW: BootView = {
  esp: "/boot",
  freeBytes: IMAGE.size + ESP_RESERVE_BYTES,
  loader: "systemd-boot 257.9-1",
  loaderFile: "/EFI/systemd/systemd-bootx64.efi",
  entries: [
    { id: FROM_ENTRY, path: `/boot/EFI/Linux/${FROM_ENTRY}` },
    { id: "pbx-0.9.0-amd64.efi", path: "/boot/EFI/Linux/pbx-0.9.0-amd64.efi" },
  ],
  oneShot: null,
  default: FROM_ENTRY,
  firmwareEntry: true,
  fallbackLoader: true,
};

const GOOD: PreflightFacts = {
  tooOld: null,
  to: "1.1.0",
  arch: "amd64",
  release: ok(RELEASE),
  from: "1.0.0",
  booted: { entry: FROM_ENTRY, sha256: "b".repeat(64) },
  boot: ok(VIEW),
  bootId: "boot",
  k3s: ok("v1.36.3+k3s1"),
  apiUp: true,
  clusterFindings: [],
  pendingRestart: null,
  snapshotTarget: ok(undefined),
  reclaimableBytes: 0,
  diskFreeBytes: ok(10 ** 9),
};

function view(change: Partial<BootView>): Partial<PreflightFacts> {
  return { boot: ok({ ...VIEW, ...change }) };
}

function k3s(version: string): Partial<PreflightFacts> {
  return { release: ok({ ...RELEASE, image: { ...RELEASE.image, k3s_version: version } }) };
}

/** What is wrong, and the one finding that tells it; null where nothing is. */
const TABLE: readonly (readonly [string, Partial<PreflightFacts>, RegExp | null])[] = [
  ["nothing", {}, null],
  ["no pinned default", view({ default: null }), null],
  ["a pinned default that is gone", view({ default: "pbx-0.1.0-amd64.efi" }), null],
  ["another default", view({ default: "pbx-0.9.0-amd64.efi" }), /the default is pbx-0\.9\.0/],
  ["a next boot that is set", view({ oneShot: "x.efi" }), /the next boot is set to x\.efi/],
  ["another loader", view({ loader: "GRUB 2.12" }), /not started by systemd-boot but by GRUB/],
  ["a loader without a name", view({ loader: null }), null],
  ["no entry of what runs", view({ entries: [] }), /no longer offers pbx-1\.0\.0/],
  ["no entry of the firmware", view({ firmwareEntry: false }), /the firmware has no active entry/],
  [
    "no fallback",
    view({ fallbackLoader: false }),
    /systemd-boot is not in EFI\/BOOT\/BOOTX64\.EFI,/,
  ],
  [
    "one byte too few",
    view({ freeBytes: VIEW.freeBytes - 1 }),
    /no room for the new image.*: 1049576 bytes are needed and 1049575 are free; what neither.*: pbx-0\.9\.0-amd64\.efi$/,
  ],
  ["room that is given back", { ...view({ freeBytes: 0 }), reclaimableBytes: 1_049_576 }, null],
  ["no bootctl", { boot: fail({ code: "missing", message: "no bootctl" }) }, /: no bootctl$/],
  ["an unknown image", { booted: { entry: null, sha256: null } }, /not known for sure/],
  [
    "an image of unknown content",
    { booted: { entry: FROM_ENTRY, sha256: null } },
    /not known for sure/,
  ],
  [
    "a name that loaders understand differently",
    {
      booted: { entry: "pbx_1.efi", sha256: "b".repeat(64) },
      ...view({ entries: [{ id: "pbx_1.efi", path: null }], default: "pbx_1.efi" }),
    },
    /the image that runs is pbx_1\.efi, and only names of/,
  ],
  ["the same release", { to: "1.0.0", from: "1.0.0+x" }, /1\.0\.0 is not newer than 1\.0\.0\+x/],
  ["an older release", { from: "1.2.0" }, /1\.1\.0 is not newer than 1\.2\.0, which runs/],
  ["a release without order", { from: "rolling" }, /whether 1\.1\.0 is newer.*rolling is no/],
  ["an unknown release", { from: null }, /which release runs is not known/],
  ["a manifest that is none", { release: fail("release 1.1.0: no key") }, /^release 1\.1\.0: no/],
  ["another architecture", { arch: "arm64" }, /release 1\.1\.0 has no image for arm64/],
  ["the same minor version of k3s", k3s("v1.36.3+k3s2"), null],
  ["a k3s two minor versions on", k3s("v1.38.0+k3s1"), /one minor version at a time/],
  ["an older k3s", k3s("v1.36.2+k3s1"), /k3s v1\.36\.2\+k3s1 is older than v1\.36\.3\+k3s1/],
  ["the next major k3s", k3s("v2.0.0+k3s1"), /one minor version at a time/],
  ["a k3s that is no version", k3s("newest"), /k3s newest is no version/],
  ["a k3s that does not run", { k3s: fail("k3s does not run") }, /^k3s does not run$/],
  ["no API", { apiUp: false }, /the Kubernetes API does not answer/],
  ["a pending restart", { pendingRestart: "x changed" }, /restart of k3s is pending \(x changed\)/],
  ["no target for the snapshot", { snapshotTarget: fail("no bucket") }, /^no bucket$/],
  ["a full disk", { diskFreeBytes: ok(10 ** 6) }, /the disk is full: 1000000 bytes are free/],
  ["no boot ID", { bootId: null }, /does not tell its boot ID/],
];

for (const [what, change, finding] of TABLE) {
  Deno.test(`preflightFindings: ${what}`, () => {
    const findings = preflightFindings({ ...GOOD, ...change });
    assert.equal(findings.length, finding === null ? 0 : 1, JSON.stringify(findings));
    if (finding !== null) assert.match(findings[0] ?? "", finding);
  });
}

Deno.test("preflightFindings: a newer release whose file name would be that of the image that runs", () => {
  const findings = preflightFindings({ ...GOOD, from: "1.0.0-x", to: "1.0.0+x", ...clash() });
  // As a version 1.0.0+x is 1.0.0, and that is after 1.0.0-x.
  assert.equal(findings.length, 1, JSON.stringify(findings));
  assert.match(findings[0] ?? "", /would have the file name of the one that runs/);
});

function clash(): Partial<PreflightFacts> {
  const entry = "pbx-1.0.0-x-amd64.efi";
  const boot = ok({ ...VIEW, entries: [{ id: entry, path: null }], default: entry });
  return { booted: { entry, sha256: "b".repeat(64) }, boot };
}

Deno.test("runningRelease: the one whose image has the booted entry's name", () => {
  const booted = { entry: "pbx-1.0.0-rc.1-k3s1-amd64.efi", sha256: null };
  const rows: readonly (readonly [readonly (string | null)[], string | null])[] = [
    [["1.0.0-rc.1+k3s1", "1.2.0"], "1.0.0-rc.1+k3s1"],
    [["1.2.0", "1.0.0-RC.1+k3s1"], "1.0.0-RC.1+k3s1"],
    [[null, "1.2.0"], "1.0.0-rc.1-k3s1"],
  ];
  for (const [candidates, release] of rows) {
    assert.equal(runningRelease(booted, "amd64", candidates), release);
  }
  const other = { entry: "debian-12.efi", sha256: null };
  assert.equal(runningRelease(other, "amd64", [null, "1.2.0"]), "1.2.0");
  assert.equal(runningRelease(other, "amd64", [null]), null);
});
