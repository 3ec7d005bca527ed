/** Prints a line for a person or a log on standard output. */
export function say(line: string): void {
  print(Deno.stdout, line);
}

/** Prints a line on standard error: what went wrong, and the way out. */
export function complain(line: string): void {
  print(Deno.stderr, line);
}

function print(stream: { writeSync(bytes: Uint8Array): number }, line: string): void {
  let rest = new TextEncoder().encode(`${line}\n`);
  while (rest.length > 0) rest = rest.subarray(stream.writeSync(rest));
}
