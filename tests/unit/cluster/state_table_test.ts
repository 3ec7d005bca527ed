import assert from "node:assert/strict";
import {
  addon,
  type AddonWorld,
  chart,
  chartPath,
  createAddonWorld,
  template,
} from "./addon_world.ts";

/** A row of the table of operations.md (Add-ons): what is there, and the states that are told. */
interface Row {
  readonly what: string;
  readonly world: () => AddonWorld | Promise<AddonWorld>;
  readonly states: Record<string, RegExp | string>;
  /** What the agent keeps in the cluster after the turn. */
  readonly objects: readonly string[];
}

const NEVER_READY = { health: [{ deployment: { namespace: "kube-system", name: "never" } }] };

const ROWS: readonly Row[] = [
  {
    what: "a required add-on is off",
    world: () => with_({ a: { requires: ["b"] }, b: {} }, [addon("a"), addon("b", false)]),
    states: { a: "failed: requires add-on b, which is off", b: "failed: still required by a" },
    objects: [],
  },
  {
    what: "a required add-on is not named",
    world: () => with_({ a: { requires: ["b"] }, b: {} }, [addon("a")]),
    states: { a: "failed: requires add-on b, which is off" },
    objects: [],
  },
  {
    what: "a conflicting add-on is on and installed",
    world: async () => {
      const world = with_({ a: {}, b: { conflicts: ["a"] } }, [addon("b")]);
      await world.turn();
      world.addons = [addon("a"), addon("b")];
      return world;
    },
    states: { a: "failed: conflicts with add-on b; switch that off first" },
    objects: ["helmcharts/b"],
  },
  {
    what: "two that conflict are switched on at once: one comes, the other says why not",
    world: () => with_({ a: {}, b: { conflicts: ["a"] } }, [addon("b"), addon("a")]),
    states: { a: "applied", b: "failed: conflicts with add-on a; switch that off first" },
    objects: ["helmcharts/a"],
  },
  {
    what: "a conflicting add-on is off, and its objects still exist",
    world: async () => {
      const world = with_({ a: {}, b: { conflicts: ["a"] } }, [addon("a")]);
      await world.turn();
      world.addons = [addon("a", false), addon("b")];
      return world;
    },
    states: { b: "pending: waits until the objects of add-on a are gone", a: /^pending/ },
    objects: [],
  },
  {
    what: "a required add-on is not applied yet",
    world: () => with_({ a: { requires: ["b"] }, b: NEVER_READY }, [addon("a"), addon("b")]),
    states: { a: "pending: waits for add-on b", b: /^pending: Deployment .* is not there yet/ },
    objects: ["helmcharts/b"],
  },
  {
    what: "a health check that does not pass yet",
    world: () => with_({ a: NEVER_READY }, [addon("a")]),
    states: { a: "pending: Deployment kube-system/never is not there yet" },
    objects: ["helmcharts/a"],
  },
  {
    what: "no health check",
    world: () => with_({ a: {} }, [addon("a")]),
    states: { a: "applied" },
    objects: ["helmcharts/a"],
  },
  {
    what: "switched off while one that requires it is on",
    world: async () => {
      const world = with_({ a: {}, b: { requires: ["a"] } }, [addon("a"), addon("b")]);
      await world.turn();
      world.addons = [addon("a", false), addon("b")];
      return world;
    },
    states: { a: "failed: still required by b", b: "failed: requires add-on a, which is off" },
    objects: ["helmcharts/a", "helmcharts/b"],
  },
  {
    what: "switched off: its objects go",
    world: async () => {
      const world = with_({ a: {}, b: {} }, [addon("a"), addon("b")]);
      await world.turn();
      world.addons = [addon("a", false), addon("b")];
      return world;
    },
    states: { a: "pending: is being removed", b: "applied" },
    objects: ["helmcharts/b"],
  },
  {
    what: "switched off and never there",
    world: () => with_({ a: {} }, [addon("a", false)]),
    states: { a: "removed" },
    objects: [],
  },
  {
    what: "its template fails: it keeps what it has",
    world: async () => {
      const world = with_({ a: {} }, [addon("a")]);
      await world.turn();
      world.templates["a"] = template("a", { objects: [{ $eval: "nobody" }] });
      return world;
    },
    states: { a: /^failed: the template does not render: \w+ at / },
    objects: ["helmcharts/a"],
  },
  {
    what: "its apply fails: it keeps what it has, and nothing is pruned",
    world: async () => {
      const world = with_({ a: {} }, [addon("a")]);
      await world.turn();
      // The API refuses another type of a Secret that is there.
      const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "pbx-addon-a" } };
      world.k8s.write(
        "/api/v1/namespaces/kube-system/secrets/pbx-addon-a",
        { ...secret, type: "other" },
        "somebody",
      );
      world.templates["a"] = template("a", {
        objects: [chart("renamed")],
        options: { password: { type: "string", secret: true } },
        secret_data: { key: "password" },
      });
      world.addons = [{ ...addon("a"), secret_options: { password: { sealed: "x" } } }];
      return world;
    },
    states: { a: /^failed: secrets\/pbx-addon-a: 422/ },
    objects: ["helmcharts/a"],
  },
  {
    what: "the release has no such add-on",
    world: () => with_({}, [addon("a")]),
    states: { a: "failed: release 1.0.0 has no such add-on" },
    objects: [],
  },
  {
    what: "a cycle of requirements, and one that requires it",
    world: () =>
      with_({
        a: { requires: ["b"] },
        b: { requires: ["c"] },
        c: { requires: ["a"] },
        d: { requires: ["a"] },
        e: { requires: ["e"] },
      }, ["a", "b", "c", "d", "e"].map((name) => addon(name))),
    states: {
      a: "failed: requires itself through a → b → c → a",
      b: "failed: requires itself through b → c → a → b",
      c: "failed: requires itself through c → a → b → c",
      d: "pending: waits for add-on a",
      e: "failed: requires itself through e → e",
    },
    objects: [],
  },
];

for (const { what, world: open, states, objects } of ROWS) {
  Deno.test(`planAddons: ${what}`, async () => {
    const world = await open();
    const told = await world.turn();
    for (const [name, wanted] of Object.entries(states)) {
      if (typeof wanted === "string") assert.equal(told[name], wanted);
      else assert.match(told[name] ?? "", wanted);
    }
    assert.deepEqual(await world.objects(), objects);
  });
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
