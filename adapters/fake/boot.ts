import type { Boot, BootedImage } from "../../core/ports/boot.ts";

/** A boot loader that booted the given image; nothing is known of it by default. */
export function createFakeBoot(image: BootedImage = { entry: null, sha256: null }): Boot {
  return { booted: () => Promise.resolve(image) };
}
