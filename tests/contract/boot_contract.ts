import assert from "node:assert/strict";
import type { Boot, BootedImage } from "../../core/ports/boot.ts";

/** What every {@link Boot} does. `open` makes an adapter on a machine that booted `image`. */
export function bootContract(name: string, open: (image: BootedImage) => Promise<Boot>): void {
  const images: readonly (readonly [string, BootedImage])[] = [
    ["an image", { entry: "pbx-1.4.0-amd64.efi", sha256: SHA256_OF_IMAGE }],
    ["an image whose file is gone", { entry: "pbx-1.4.0-amd64.efi", sha256: null }],
    ["something unknown", { entry: null, sha256: null }],
  ];
  for (const [what, image] of images) {
    Deno.test(`boot (${name}): tells that ${what} booted, each time it is asked`, async () => {
      const boot = await open(image);
      assert.deepEqual(await boot.booted(), image);
      assert.deepEqual(await boot.booted(), image);
    });
  }
}

/** The bytes of the image on the ESP, for adapters that read it, and their hash. */
export const IMAGE_BYTES: Uint8Array = new TextEncoder().encode("image");
export const SHA256_OF_IMAGE = "6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d";
