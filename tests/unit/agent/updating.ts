import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createFakePrograms } from "../../../adapters/fake/programs.ts";
import { PROGRAM_FILE } from "../../../core/state/paths.ts";
import { rollBack } from "../../../core/update/rollback.ts";
import { createSettledWorld, type World } from "./world.ts";

/** The units of the rollback and of the agent. */
export const TIMER = "pbx-agent-rollback.timer";
export const AGENT = "pbx-agent.service";

/** What a program of that version says to `version`. */
export function says(version: string): string {
  return `pbx-agent ${version}\nrelease keys: none\n`;
}

/** A settled world whose machine has the program and the units; the portal offers 0.2.0. */
export async function updating(text = says("0.2.0")): Promise<World> {
  const world = await createSettledWorld();
  world.disk.put(PROGRAM_FILE, says("0.1.0"), 0o755);
  world.disk.put("/etc/systemd/system/keep", "", 0o644);
  world.systemd.units.set(TIMER, { state: "inactive", enabled: false });
  world.systemd.units.set(AGENT, { state: "active", enabled: true });
  offer(world, "2.0.0", "0.2.0", text);
  return world;
}

/** Puts a release on the portal and its agent behind the URL of `file`; wants it. */
export function offer(
  world: World,
  release: string,
  version: string,
  text: string,
  file = release,
): void {
  const bytes = new TextEncoder().encode(text);
  const url = `https://files.example.com/${file}`;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const artifact = { url, sha256, size: bytes.length };
  world.artifacts.files.set(url, bytes);
  world.portal.portal.state.releases.set(release, {
    payload: {
      version: release,
      created_at: "2026-01-01T00:00:00Z",
      agent: { version, artifacts: { amd64: artifact } },
      image: { k3s_version: "v1.36.3+k3s1", artifacts: {} },
      addons: {},
    },
    signedBy: ["first"],
    tampered: false,
  });
  world.portal.desire({ release, agent: { version }, addons: [] });
}

/** Starts what is in place, as systemd does, until nothing ends any more. */
export async function live(world: World, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 5_000) {
    if (world.ended() !== null) world.start();
    await world.pass(5_000);
  }
}

/** The conditions of the newest report, with their messages. */
export const agentConditions = (world: World) =>
  world.lastReport().conditions.map(({ code, message }) => `${code}: ${message}`).join();

/** What the timer does when it fires. */
export async function fire(world: World) {
  world.kill();
  return await rollBack({ ...world, programs: createFakePrograms(world.disk) });
}

/** An update that was taken back, right before the previous program starts again. */
export async function takenBack(): Promise<World> {
  const world = await updating();
  for (let i = 0; i < 40 && world.ended() === null; i++) await world.pass(5_000);
  assert.deepEqual(await fire(world), { ok: true, value: "rolled_back" });
  return world;
}
