/** Stands for `bootctl` of another machine: hands its arguments to a port of loopback, and ends as that says. */
const [port, ...args] = Deno.args;
const answer = await fetch(`http://127.0.0.1:${port}`, {
  method: "POST",
  body: JSON.stringify(args),
});
const { code, stdout } = await answer.json();
await Deno.stdout.write(new TextEncoder().encode(stdout));
Deno.exit(code);
