import { createFakeClock } from "../../adapters/fake/clock.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { clockContract } from "./clock_contract.ts";

clockContract("createFakeClock", () => {
  const clock = createFakeClock();
  return { clock, pass: (ms) => clock.advance(ms) };
});

clockContract("createNodeClock", () => {
  const pass = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms + 1));
  return { clock: createNodeClock(), pass };
});
