import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeSnapshotFile } from "../../adapters/fake/snapshot_file.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { createNodeSnapshotFile } from "../../adapters/node/snapshot_file.ts";
import { snapshotFileContract } from "./snapshot_file_contract.ts";

snapshotFileContract("fake", async () => {
  const disk = createFakeDisk();
  await disk.makeDirectory("/folder", 0o755);
  const files = createFakeSnapshotFile(disk);
  return { files, disk, folder: "/folder", close: () => Promise.resolve() };
});

snapshotFileContract("node, with a root", async () => {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/var`);
  const close = () => Deno.remove(root, { recursive: true });
  const disk = createNodeDisk({ root });
  return { files: createNodeSnapshotFile({ root }), disk, folder: "/var", close };
});
