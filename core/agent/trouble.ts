import { printable } from "../printable.ts";
import type { Context } from "./context.ts";
import { timestamp } from "./context.ts";

/** Notes for `status` and the log why the agent gets nowhere with the portal; logged when it is new. */
export async function noteTrouble(context: Context, code: string, why: string): Promise<void> {
  const message = printable(why);
  const before = context.store.state.trouble;
  context.ports.log.write("warn", code, message);
  if (before?.code === code && before.message === message) return;
  const since = before?.code === code ? before.since : timestamp(context);
  await context.store.keep((state) => ({ ...state, trouble: { code, message, since } }));
}

/** Notes that the portal answers again. True where it did not before. */
export async function clearTrouble(context: Context): Promise<boolean> {
  if (context.store.state.trouble === null) return false;
  await context.store.keep((state) => ({ ...state, trouble: null }));
  return true;
}
