import assert from "node:assert/strict";
import type { Node } from "../first_start/node.ts";
import { offer } from "./operation.ts";
import { DATABASES } from "./truth.ts";

/**
 * Seconds that no clock of these tests reaches. The clock of a container is its host's and is not set; beside
 * what is named after such a time, what comes now looks as it does after the clock was set back.
 */
const FUTURE = 9_999_999_999;

/** Saves twice under one name, beside a snapshot of it from the future. */
export async function saveBesideLater({ container, ...node }: Node, snapshot: string) {
  const host = (await container.run(["cat", "/proc/sys/kernel/hostname"])).trim().toLowerCase();
  const folder = `${DATABASES}/snapshots`;
  const later = `weekly-${host}-${FUTURE}.zip`;
  await container.run(["cp", `${folder}/${snapshot}`, `${folder}/${later}`]);
  const files: unknown[] = [];
  for (const _ of [1, 2]) {
    const saved = await (await offer({ container, ...node }, "snapshot.save", { name: "weekly" }))
      .result();
    assert.equal(saved.state, "succeeded", JSON.stringify(saved));
    const { file, size } = saved.output ?? {};
    assert.equal((await node.s3.read(`lab/${file}`))?.length, size);
    files.push(file);
  }
  assert.ok(!files.includes(later) && files[0] !== files[1], String(files));
  await container.run(["rm", `${folder}/${later}`]);
}

/** What a restore moved aside with a clock that was ahead; gives what removes it. */
export async function plantLater({ container }: Node): Promise<() => Promise<unknown>> {
  const later = [`${DATABASES}/etcd-old-${FUTURE}`, `${DATABASES}/../tls-${FUTURE}`];
  await container.run(["mkdir", ...later]);
  return () => container.run(["rm", "-rf", ...later]);
}
