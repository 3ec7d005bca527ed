import assert from "node:assert/strict";
import {
  addon,
  type AddonWorld,
  chart,
  chartPath,
  createAddonWorld,
  template,
} from "./addon_world.ts";
import { assertRow, STATE_ROWS } from "./state_rows.ts";

for (const row of STATE_ROWS) {
  Deno.test(`planAddons: ${row.what}`, () => assertRow(createAddonWorld(), row));
}

Deno.test("planAddons: removed is told once the objects are gone, applied once the room is free", async () => {
  const world = with_({ a: {}, b: { conflicts: ["a"] } }, [addon("a")]);
  await world.turn();
  world.addons = [addon("a", false), addon("b")];
  await world.turn();
  assert.deepEqual(await world.turn(), { a: "removed", b: "applied" });
});

Deno.test("planAddons: a chain comes in the order of its requirements in one turn", async () => {
  const world = with_({ a: { requires: ["b"] }, b: { requires: ["c"] }, c: {} }, [
    addon("a"),
    addon("b"),
    addon("c"),
  ]);
  assert.deepEqual(await world.turn(), { c: "applied", b: "applied", a: "applied" });
  const applied = world.k8s.requests().filter(({ method }) => method === "PATCH");
  assert.deepEqual(applied.map(({ path }) => path), ["c", "b", "a"].map(chartPath));
});

Deno.test("planAddons: what rests on another goes before that one", async () => {
  const world = with_({ a: {}, b: { requires: ["a"] } }, [addon("a"), addon("b")]);
  await world.turn();
  world.addons = [addon("a", false), addon("b", false)];
  await world.turn();
  const removed = world.k8s.requests().filter(({ method }) => method === "DELETE");
  assert.deepEqual(removed.map(({ path }) => path), ["b", "a"].map(chartPath));
});

Deno.test("planAddons: two conflicting add-ons that are both installed keep what they have", async () => {
  const world = with_({ a: {}, b: {} }, [addon("a"), addon("b")]);
  await world.turn();
  world.templates["a"] = template("a", { conflicts: ["b"] });
  assert.deepEqual(await world.turn(), {
    a: "failed: conflicts with add-on b; switch that off first",
    b: "failed: conflicts with add-on a; switch that off first",
  });
  assert.deepEqual(await world.objects(), ["helmcharts/a", "helmcharts/b"]);
});

Deno.test("planAddons: an add-on that is not named any more keeps its objects", async () => {
  const world = with_({ a: {}, b: {} }, [addon("a"), addon("b")]);
  await world.turn();
  world.addons = [addon("b")];
  assert.deepEqual(await world.turn(), { b: "applied" });
  assert.deepEqual(await world.objects(), ["helmcharts/a", "helmcharts/b"]);
});

Deno.test("planAddons: an object that another add-on has is not taken from it", async () => {
  const world = with_({ a: {}, b: { objects: [chart("a")] } }, [addon("a")]);
  await world.turn();
  world.addons = [addon("a"), addon("b")];
  assert.match((await world.turn())["b"] ?? "", /^failed: helmcharts\/a belongs to another add-on/);
});

function with_(
  templates: Parameters<typeof createAddonWorld>[0],
  addons: AddonWorld["addons"],
): AddonWorld {
  const world = createAddonWorld(templates);
  world.addons = [...addons];
  return world;
}
