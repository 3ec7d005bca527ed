/**
 * `deno task simulate`, and the compiled program `pbx-simulate`: the same simulation as
 * `pbx-agent simulate`, for labs. It writes files, trusts the lab's release keys unless told others, and
 * from its sources it starts a fake portal where none is named.
 */
import keys from "../fixtures/lab-release-keys.json" with { type: "json" };
import { parseReleaseKeys } from "../adapters/portal/release_keys.ts";
import { signingPublicKey } from "../core/protocol/signing.ts";
import { simulate } from "./commands/simulate.ts";
import { EXIT } from "./exit_codes.ts";
import { print } from "./print.ts";
import { createOrders } from "../simulate/fleet/orders.ts";
import { simulateRestore } from "./simulate/restore.ts";
import { simulateVirtual } from "./simulate/virtual.ts";
import { startOwnPortal } from "./simulate/own_portal.ts";

if (import.meta.main) {
  const releaseKeys = parseReleaseKeys(JSON.stringify(keys)).map(signingPublicKey);
  try {
    const code = await simulate(Deno.args, {
      releaseKeys,
      lab: true,
      orders: createOrders,
      virtual: simulateVirtual,
      restore: simulateRestore,
      ...(Deno.build.standalone ? {} : { startPortal: startOwnPortal }),
    });
    Deno.exit(code);
  } catch (error) {
    print("stderr", `simulate: ${error instanceof Error ? error.message : String(error)}\n`);
    Deno.exit(EXIT.FAILED);
  }
}
