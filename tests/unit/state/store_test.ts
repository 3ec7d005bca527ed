import assert from "node:assert/strict";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import { STATE_FILE } from "../../../core/state/paths.ts";
import { EMPTY_STATE, type State } from "../../../core/state/state.ts";
import { loadState, openStore } from "../../../core/state/store.ts";

function offset(ms: number): (state: State) => State {
  return (state) => ({ ...state, clock_offset_ms: ms });
}

function uid(text: string): (state: State) => State {
  return (state) => ({ ...state, kube_system_uid: text });
}

async function stored(disk: FakeDisk): Promise<State | null> {
  const found = await loadState(disk);
  return found.ok && found.value.kind === "loaded" ? found.value.value : null;
}

Deno.test("store: what is kept counts at once, what is committed only once it is on disk", async () => {
  const disk = createFakeDisk();
  const store = openStore(disk, EMPTY_STATE, null);
  const keeping = store.keep(offset(1));
  assert.equal(store.state.clock_offset_ms, 1);
  await keeping;
  assert.equal((await stored(disk))?.clock_offset_ms, 1);

  const committing = store.commit(offset(2));
  assert.equal(store.state.clock_offset_ms, 1);
  assert.equal((await committing).ok, true);
  assert.equal(store.state.clock_offset_ms, 2);
  assert.equal((await stored(disk))?.clock_offset_ms, 2);
});

Deno.test("store: a commit that fails changes nothing; what is kept counts all the same", async () => {
  for (const operation of ["makeDirectory", "write", "rename", "syncDirectory"] as const) {
    const disk = createFakeDisk();
    const store = openStore(disk, EMPTY_STATE, null);
    await store.keep(offset(1));
    disk.failNext("full", { operation });
    const committed = await store.commit(offset(2));
    assert.equal(committed.ok ? "ok" : committed.error.code, "full", operation);
    assert.equal(store.state.clock_offset_ms, 1, operation);
    // Also where the failed write has reached the file: the next chance puts it right.
    await store.flush();
    assert.equal((await stored(disk))?.clock_offset_ms, 1, operation);

    disk.failNext("full", { operation });
    await store.keep(offset(3));
    assert.equal(store.state.clock_offset_ms, 3, operation);
    await store.flush();
    assert.equal((await stored(disk))?.clock_offset_ms, 3, operation);
  }
});

Deno.test("store: nothing is written when nothing is owed", async () => {
  const disk = createFakeDisk();
  const saved = offset(5)(EMPTY_STATE);
  const store = openStore(disk, saved, saved);
  await store.flush();
  await store.keep(offset(5));
  assert.equal((await store.commit((state) => ({ ...state }))).ok, true);
  assert.deepEqual(disk.writes(), []);
  await store.keep(offset(6));
  const { length } = disk.writes();
  await store.flush();
  assert.equal(disk.writes().length, length);
});

Deno.test("store: a state that was recovered is owed until it is written", async () => {
  const disk = createFakeDisk();
  const store = openStore(disk, EMPTY_STATE, null);
  await store.flush();
  assert.deepEqual(await stored(disk), EMPTY_STATE);
});

Deno.test("store: calls at the same time land in their order, and none is lost", async () => {
  const disk = createFakeDisk();
  const store = openStore(disk, EMPTY_STATE, null);
  await Promise.all([
    store.commit(uid("a")),
    store.keep(offset(1)),
    store.commit((state) => uid(`${state.kube_system_uid}b`)(state)),
    store.keep(offset(2)),
  ]);
  assert.equal(store.state.kube_system_uid, "ab");
  assert.equal(store.state.clock_offset_ms, 2);
  assert.deepEqual(await stored(disk), store.state);
});

Deno.test("store: what is learnt during a commit stays, whether the commit succeeds or not", async () => {
  for (const fails of [false, true]) {
    const disk = createFakeDisk();
    const store = openStore(disk, EMPTY_STATE, null);
    if (fails) disk.failNext("full", { operation: "write" });
    const committing = store.commit(uid("a"));
    // The commit is at its write now.
    await Promise.resolve();
    await store.keep(offset(7));
    assert.equal((await committing).ok, !fails);
    const expected = { ...EMPTY_STATE, clock_offset_ms: 7, kube_system_uid: fails ? null : "a" };
    assert.deepEqual(store.state, expected);
    assert.deepEqual(await stored(disk), expected);
  }
});

Deno.test("store: a change that throws breaks no later write", async () => {
  const disk = createFakeDisk();
  const store = openStore(disk, EMPTY_STATE, null);
  await assert.rejects(store.commit(() => {
    throw new Error("a fault");
  }));
  await store.keep(offset(1));
  assert.equal((await stored(disk))?.clock_offset_ms, 1);
});

Deno.test("loadState: an empty state survives the way to the disk and back; unknown members do not matter", async () => {
  const disk = createFakeDisk();
  disk.put(STATE_FILE, JSON.stringify({ format: 1, ...EMPTY_STATE, of_a_later_version: true }));
  assert.deepEqual(await stored(disk), EMPTY_STATE);
});
