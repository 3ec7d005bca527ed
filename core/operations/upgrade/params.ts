import * as z from "zod";
import { ReleaseVersion } from "../../protocol/identifiers.ts";

/** The parameters of `cluster.upgrade`. */
export const UpgradeParams = z.strictObject({ release: ReleaseVersion });
export type UpgradeParams = z.infer<typeof UpgradeParams>;
