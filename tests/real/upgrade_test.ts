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
import { orderUpgrade, waitForResult, waitForStep } from "./upgrade/operation.ts";
import { type Fault, publish, type ReleaseOptions } from "./upgrade/releases.ts";
import { layOutWorld, type World } from "./upgrade/world.ts";

const isLong = Deno.env.get("PBX_LONG") === "1";

/** The agent's: cycles every 3 s, and a health gate of a minute where images fail it. */
const FLAGS = ["--cycle 3", ...(isLong ? ["--gate 75"] : [])];

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

async function waitForRequest({ portal }: World, path: string): Promise<void> {
  await waitUntil(`a request for ${path}`, async () => {
    const { requests } = await portal.admin<{ requests: { path: string }[] }>(
      "GET",
      "/admin/state",
    );
    return requests.some((request) => request.path === path) || undefined;
  }, { timeoutMs: 60_000, everyMs: 100 });
}

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
      const boots = world.vm.boots();
      const { message, image } = await failing(world, { fault }, code);
      assert.match(message, why);
      assert.deepEqual(starts(world, from), [image.version, before?.version]);
      const watchdogs = world.vm.ends().slice(boots - 1).map(({ watchdog }) => watchdog);
      assert.deepEqual(watchdogs, [false, fault === "hang"]);
    },
  );
}
