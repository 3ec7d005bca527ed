import assert from "node:assert/strict";
import { parseLog } from "./program.ts";
import { inWorld } from "./world.ts";

Deno.test("run: a second one on the same state directory refuses to start, and the first goes on", async () => {
  await inWorld(async (world) => {
    const first = await world.startSynced();
    const second = await world.cli("run");
    assert.equal(second.code, 75);
    const [line, ...rest] = parseLog(second.stderr);
    assert.deepEqual(rest, []);
    assert.equal(line?.level, "error");
    assert.equal(line?.event, "locked");
    assert.match(line?.message ?? "", new RegExp(`another pbx-agent runs on .*${first.pid}`));

    const status = JSON.parse((await world.cli("status")).stdout);
    assert.deepEqual([status.running, status.pid], [true, first.pid]);
    assert.deepEqual(await first.stop(), { code: 0, signal: null });
  });
});

Deno.test("run: a kill -9 leaves no lock behind", async () => {
  await inWorld(async (world) => {
    const first = await world.startSynced();
    first.kill("SIGKILL");
    await first.ended();
    const status = JSON.parse((await world.cli("status")).stdout);
    assert.deepEqual([status.running, status.pid], [false, null]);
    const second = await world.startSynced();
    assert.deepEqual(await second.stop(), { code: 0, signal: null });
  });
});

Deno.test("run: somebody who looks at its status in this very moment does not keep it from starting", async () => {
  await inWorld(async (world) => {
    const first = await world.startSynced();
    await first.stop();
    // What status holds for an instant, held until the second one has come to the lock.
    const path = `${world.root}/var/lib/pbx-agent/lock`;
    using file = await Deno.open(path, { read: true });
    await file.lock(false);
    const second = world.start();
    await world.until("the second one at the lock", () => opened(second.pid).includes(path));
    await file.unlock();
    await second.event("agent_started");
    assert.deepEqual(await second.stop(), { code: 0, signal: null });
  });
});

Deno.test("run: makes way for an installation, and starts once its lock is let go of, however that ended", async () => {
  await inWorld(async (world) => {
    const lock = `${world.root}/run/pbx-agent-install.lock`;
    await Deno.mkdir(`${world.root}/run`, { recursive: true });
    // As the install script holds it.
    const installer = new Deno.Command("flock", {
      args: [lock, "--command", "read -r line"],
      stdin: "piped",
    }).spawn();
    await world.until(
      "the installer's lock",
      async () =>
        await Deno.readTextFile("/proc/locks").then(async (locks) =>
          locks.includes(`:${(await Deno.stat(lock)).ino} `)
        ).catch(() => false),
    );
    const deferred = world.start();
    await deferred.event("installation_under_way");
    assert.equal(deferred.end(), null);
    installer.kill("SIGKILL");
    await installer.status;
    await installer.stdin.close();
    assert.deepEqual(await deferred.ended(), { code: 69, signal: null });
    assert.equal(deferred.lines().length, 1);
    // The file is still there.
    const next = world.start();
    await next.event("agent_started");
    assert.deepEqual(await next.stop(), { code: 0, signal: null });
  });
});

/** What a process has open. */
function opened(pid: number): string[] {
  const fds = `/proc/${pid}/fd`;
  return [...Deno.readDirSync(fds)].flatMap(({ name }) => {
    try {
      return [Deno.readLinkSync(`${fds}/${name}`)];
    } catch {
      return []; // closed meanwhile
    }
  });
}
