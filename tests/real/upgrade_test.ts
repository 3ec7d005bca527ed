// needs: root qemu-system-x86_64 mmdebstrap mcopy mkfs.vfat sfdisk objcopy cpio zstd mke2fs
/**
 * `cluster.upgrade` on real firmware, a real systemd-boot, kernel, systemd and the compiled agent, in an
 * emulated machine; only k3s is a stand-in. One node, one story: each test starts from what the one before
 * left. PBX_LONG=1 adds everything else that can go wrong (about 20 minutes more).
 */
import assert from "node:assert/strict";
import type { Image } from "../lab/vm/image.ts";
import { waitUntil } from "../lab/wait_until.ts";
import { assertEnds, assertRuns, lastWords } from "./upgrade/assert.ts";
import {
  orderUpgrade,
  PATIENCE_MS,
  waitForReport,
  waitForResult,
  waitForStep,
} from "./upgrade/operation.ts";
import { type Fault, publish, type ReleaseOptions } from "./upgrade/releases.ts";
import { layOutWorld, type World } from "./upgrade/world.ts";

const isLong = Deno.env.get("PBX_LONG") === "1";

/** The agent's: cycles every 3 s, and a health gate of two minutes where images fail it. */
const FLAGS = ["--cycle 3", ...(isLong ? ["--gate 120"] : [])];

/** What the tests hand on to one another. */
const story: {
  world?: World;
  /** What runs, and what it came from. */
  images: readonly Image[];
  minor: number;
  broken?: string;
} = { images: [], minor: 0 };

/** One step of the story. After one that failed, the rest says so at once instead of waiting. */
function chapter(name: string, tell: (world: World) => Promise<void>): void {
  const fn = async () => {
    if (story.broken !== undefined) throw new Error(`not reached: "${story.broken}" failed`);
    story.broken = name;
    const { world } = story;
    assert.ok(world, "the node could not be laid out");
    await tell(world).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${lastWords(world)}`);
    });
    delete story.broken;
  };
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

/** The same, in the long matrix only. */
function longChapter(name: string, tell: (world: World) => Promise<void>): void {
  if (isLong) chapter(name, tell);
}

Deno.test.beforeAll(async () => {
  story.world = await layOutWorld(FLAGS);
  story.images = [story.world.first];
});

Deno.test.afterAll(async () => await story.world?.stop());

/** Publishes the next release. */
async function nextRelease(world: World, options: Omit<ReleaseOptions, "version"> = {}) {
  story.minor++;
  return await publish(world, { version: `1.${story.minor}.0`, ...options });
}

/** An upgrade that has to succeed, whatever `meanwhile` does. */
async function upgrade(
  world: World,
  meanwhile: (id: string, image: Image) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const [before] = story.images;
  const image = await nextRelease(world);
  const id = await orderUpgrade(world, image.version);
  await meanwhile(id, image);
  const result = await waitForResult(world, id);
  assertEnds(result, "succeeded");
  assert.deepEqual(result.output, {
    from: before?.version,
    to: image.version,
    boot_entry: image.entry,
  });
  story.images = before === undefined ? [image] : [image, before];
  await assertRuns(world, story.images);
}

/** An upgrade that has to fail with `code`, and leave everything as it was. */
async function failing(
  world: World,
  options: Omit<ReleaseOptions, "version">,
  code: string,
  meanwhile: (id: string, image: Image) => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly message: string; readonly image: Image }> {
  const image = await nextRelease(world, options);
  const id = await orderUpgrade(world, image.version);
  await meanwhile(id, image);
  const result = await waitForResult(world, id);
  assertEnds(result, "failed", code);
  await assertRuns(world, story.images);
  return { message: result.message ?? "", image };
}

/** Images that started since `from`, a number of lines of the console. */
function starts({ vm }: World, from: number): readonly string[] {
  return vm.console.lines.slice(from).flatMap((line) =>
    /^image: (\S+) starts after/.exec(line)?.[1] ?? []
  );
}

chapter("a node with one image enrolls and reports the image that booted", async (world) => {
  await world.vm.powerOn();
  // As whoever installs a node does: the firmware gets its entry, and the second way in is there.
  await world.vm.run("bootctl install");
  await assertRuns(world, story.images);
});

chapter(
  "a new image that panics: the next boot is the old image, and the portal hears why",
  async (world) => {
    const from = world.vm.console.lines.length;
    const { image } = await failing(world, { fault: "panic" }, "fell_back");
    assert.deepEqual(starts(world, from), [image.version, world.first.version]);
    const panic = world.vm.console.lines.slice(from).some((line) => /Kernel panic/.test(line));
    assert.ok(panic, "the serial console shows no panic");
  },
);

chapter(
  "after it the next one: with the power cut while it is fetched, it goes on and ends well",
  async (world) => {
    const from = world.vm.console.lines.length;
    await upgrade(world, async (id, image) => {
      const match = { path: `/artifacts/${image.entry}` };
      await world.portal.admin("POST", "/admin/faults", { match, action: { cut: "midway" } });
      await waitForStep(world, id, "fetch_image");
      await waitForRequest(world, match.path);
      await world.vm.cut();
      await world.vm.powerOn();
    });
    const [, next] = story.images;
    assert.deepEqual(starts(world, from), [next?.version, story.images[0]?.version]);
  },
);

/** Faults of images, each with how the upgrade ends. */
const FAULTS: readonly (readonly [Fault, string, RegExp])[] = [
  ["hang", "fell_back", /did not come up/],
  ["agent", "gate_failed", /the return's timer restarted the node/],
  ["k3s", "gate_failed", /\/readyz/],
];

for (const [fault, code, why] of FAULTS) {
  longChapter(
    `a new image with a fault (${fault}) ends in the old one, and says why`,
    async (world) => {
      const [before] = story.images;
      const from = world.vm.console.lines.length;
      const boots = world.vm.ends().length;
      const { message, image } = await failing(world, { fault }, code);
      assert.match(message, why);
      assert.deepEqual(starts(world, from), [image.version, before?.version]);
      const watchdogs = world.vm.ends().slice(boots).map(({ watchdog }) => watchdog);
      assert.deepEqual(watchdogs, [false, fault === "hang"]);
    },
  );
}

longChapter(
  "an image that is cut off on the ESP after its one boot was set: the firmware's second way leads to the old one",
  async (world) => {
    const from = world.vm.console.lines.length;
    const { image } = await failing(world, {}, "fell_back", (_id, image) => {
      const path = `EFI/Linux/${image.entry}`;
      world.atNextStart = async () => {
        const whole = await world.esp.read(path);
        await world.esp.put(path, whole.subarray(0, whole.length / 3));
      };
      return Promise.resolve();
    });
    assert.deepEqual(starts(world, from), [story.images[0]?.version], "the cut image started");
    const refused = `Error loading \\EFI\\Linux\\${image.entry}`;
    const lines = world.vm.console.lines.slice(from);
    assert.ok(lines.some((line) => line.startsWith(refused)), "the boot loader did not try it");
  },
);

longChapter("an image of which the portal has a part only is never staged", async (world) => {
  const { message } = await failing(world, { cutAt: 4_000_000 }, "wrong_size");
  assert.match(message, /4000000/);
});

longChapter("no room on the ESP is found before anything is changed", async (world) => {
  await fillEsp(world);
  const { message } = await failing(world, {}, "checks_failed", async (id) => {
    await waitForResult(world, id);
    await emptyEsp(world);
  });
  assert.match(message, /no room for the new image/);
});

longChapter(
  "an ESP that fills up while the image is fetched leaves nothing behind",
  async (world) => {
    await failing(world, {}, "esp_full", async (id, image) => {
      const match = { path: `/artifacts/${image.entry}` };
      await world.portal.admin("POST", "/admin/faults", { match, action: { delay_ms: 20_000 } });
      await waitForStep(world, id, "fetch_image");
      await fillEsp(world);
      await waitForResult(world, id);
      await emptyEsp(world);
    });
  },
);

/** Steps in the old image: whatever was done of them, the upgrade goes on. */
for (const step of ["preflight", "pre_snapshot", "stage_slot"]) {
  longChapter(`the power cut in ${step}: the upgrade goes on and ends well`, async (world) => {
    await upgrade(world, async (id) => {
      await waitForStep(world, id, step);
      await cutPower(world);
    });
  });
}

longChapter("the power cut while the new image starts: the old one runs", async (world) => {
  const from = world.vm.console.lines.length;
  await failing(world, {}, "fell_back", async (_id, image) => {
    const pattern = new RegExp(`^image: ${image.version} starts`);
    await world.vm.console.waitFor(pattern, { from, timeoutMs: PATIENCE_MS });
    await cutPower(world);
  });
});

longChapter("the power cut in the health gate: the old one runs", async (world) => {
  await failing(world, {}, "fell_back", async (id) => {
    await waitForStep(world, id, "health_gate");
    await cutPower(world);
  });
});

/** Where the cut comes a moment earlier or later, either image is right: but all have to say the same. */
for (const step of ["reboot", "commit"]) {
  longChapter(
    `the power cut in ${step}: what runs is the default, and the portal hears which`,
    async (world) => {
      const [before] = story.images;
      assert.ok(before);
      const image = await nextRelease(world);
      const id = await orderUpgrade(world, image.version);
      await waitForStep(world, id, step);
      await cutPower(world);
      const result = await waitForResult(world, id);
      const isNew = result.state === "succeeded";
      assertEnds(result, isNew ? "succeeded" : "failed", isNew ? undefined : "fell_back");
      if (isNew) story.images = [image, before];
      await assertRuns(world, story.images);
    },
  );
}

longChapter(
  "a person boots the kept image once: the report tells it, and the next boot is the default again",
  async (world) => {
    const [running, kept] = story.images;
    assert.ok(running !== undefined && kept !== undefined);
    await world.vm.run(`bootctl set-oneshot ${kept.entry}`);
    await world.vm.reboot();
    const once = await waitForReport(world);
    assert.deepEqual(
      [once.node.boot_entry, once.node.boot_image_sha256],
      [kept.entry, kept.sha256],
    );
    await world.vm.reboot();
    await assertRuns(world, story.images);
  },
);

longChapter("after all that, an upgrade works", async (world) => await upgrade(world));

async function waitForRequest({ portal }: World, path: string): Promise<void> {
  await waitUntil(`a request for ${path}`, async () => {
    const { requests } = await portal.admin<{ requests: { path: string }[] }>(
      "GET",
      "/admin/state",
    );
    return requests.some((request) => request.path === path) || undefined;
  }, { timeoutMs: PATIENCE_MS, everyMs: 100 });
}

async function cutPower({ vm }: World): Promise<void> {
  await vm.cut();
  await vm.powerOn();
}

const FILLER = "/boot/filler";

async function fillEsp({ vm }: World): Promise<void> {
  await vm.run(`dd if=/dev/zero of=${FILLER} bs=1M; sync`);
}

async function emptyEsp({ vm }: World): Promise<void> {
  await vm.run(`rm -f ${FILLER}; sync`);
}
