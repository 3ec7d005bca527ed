import { httpContract } from "./http_contract.ts";
import { openFakeWorld, openFleetWorld, openNodeWorld } from "./http_world.ts";

httpContract("fake", openFakeWorld);
httpContract("node", openNodeWorld);
httpContract("fleet", openFleetWorld);
