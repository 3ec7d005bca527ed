import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { diskContract } from "./disk_contract.ts";

diskContract("createFakeDisk", async () => {
  const disk = createFakeDisk();
  await disk.makeDirectory("/folder", 0o755);
  return { disk, folder: "/folder", dispose: () => Promise.resolve() };
});

diskContract("createNodeDisk", async () => {
  const folder = await Deno.makeTempDir();
  const dispose = () => Deno.remove(folder, { recursive: true });
  return { disk: createNodeDisk(), folder, dispose };
});

diskContract("createNodeDisk with a root", async () => {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/etc`);
  const dispose = () => Deno.remove(root, { recursive: true });
  return { disk: createNodeDisk({ root }), folder: "/etc", dispose };
});
