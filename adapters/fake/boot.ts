import type { Boot, BootedImage, BootError } from "../../core/ports/boot.ts";
import { fail } from "../../core/result.ts";

/** A machine that booted the given image, without a boot loader that can be asked; nothing is known of it by default. */
export function createFakeBoot(image: BootedImage = { entry: null, sha256: null }): Boot {
  const none = () => Promise.resolve(fail<BootError>(NO_BOOTCTL));
  return {
    booted: () => Promise.resolve(image),
    look: none,
    setOneShot: none,
    setDefault: none,
  };
}

const NO_BOOTCTL: BootError = { code: "missing", message: "/usr/bin/bootctl does not exist" };
