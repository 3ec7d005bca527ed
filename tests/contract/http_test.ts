import { httpContract } from "./http_contract.ts";
import { openFakeWorld, openNodeWorld } from "./http_world.ts";

httpContract("fake", openFakeWorld);
httpContract("node", openNodeWorld);
