import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { VERSION } from "../../../cli/version.ts";
import { buildAgentProgram } from "../../lab/agent_program.ts";

/** A program as a release offers it. */
export interface Program {
  /** What the release says of it. */
  readonly version: string;
  /** Of the file. */
  readonly sha256: string;
  readonly size: number;
  /** What travels, gzip or as it is. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzip: boolean;
}

/** A compiled agent of the lab. */
export interface Compiled extends Program {
  /** The file itself. */
  readonly content: Uint8Array;
}

/** The agents of a matrix: the one that every machine begins with, and two that follow it. */
export interface Programs {
  readonly first: Compiled;
  readonly second: Compiled;
  readonly third: Compiled;
}

/** Compiles the agents, which differ in nothing but the version that they say. */
export async function compilePrograms(): Promise<Programs> {
  const [first, second, third] = [
    await compiled(VERSION),
    await compiled("0.2.0"),
    await compiled("0.3.0"),
  ];
  return { first, second, third };
}

async function compiled(version: string): Promise<Compiled> {
  const content = await Deno.readFile(await buildAgentProgram({ version }));
  const bytes = new Uint8Array(await promisify(gzip)(content, { level: 1 }));
  const sha256 = hashOf(content);
  return { version, sha256, size: content.length, bytes, gzip: true, content };
}

/** A program of these bytes, which travel as they are. */
export function plain(version: string, text: string): Program {
  const bytes = new TextEncoder().encode(text);
  return {
    version,
    sha256: hashOf(bytes),
    size: bytes.length,
    bytes,
    gzip: false,
  };
}

/** A program that is a shell script. */
export function script(version: string, text: string): Program {
  return plain(version, `#!/bin/sh\n${text}\n`);
}

/** What a script prints to be taken for a program of this version. */
export function says(version: string): string {
  return `printf 'pbx-agent ${version}\\nrelease keys: none\\n'`;
}

/** A program that says its version and then does nothing but stay. */
export function mute(version: string): Program {
  return script(version, `${says(version)}\n[ "$1" = version ] || exec sleep infinity`);
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
