/**
 * What the benchmarks compare with: a program that does nothing but fetch.
 * `minimal_main.ts URL [PAUSE_MS]`: once, or again and again with a pause between.
 */
const [url = "", pause] = Deno.args;
do {
  const answer = await fetch(url);
  await answer.text();
  await new Promise((resolve) => setTimeout(resolve, Number(pause ?? 0)));
} while (pause !== undefined);
