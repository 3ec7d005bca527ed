/** Tells the demo, step by step, for people. */
export interface Story {
  step(title: string): void;
  say(text: string): void;
  /** A file or an answer, indented under its name. */
  show(name: string, content: string): void;
  end(): void;
  failed(why: string): void;
}

/** A story that begins now. */
export function openStory(write: (text: string) => void): Story {
  let count = 0;
  const began = Date.now();
  return {
    step(title) {
      count++;
      write(`\n${count}. ${title}\n`);
    },
    say: (text) => write(`   ${text}\n`),
    show(name, content) {
      write(`   ${name}\n`);
      for (const line of content.trimEnd().split("\n")) write(`   | ${line}\n`);
    },
    end() {
      write(
        `\nDone in ${
          Math.round((Date.now() - began) / 1000)
        } s; nothing is left on this machine.\n`,
      );
    },
    failed(why) {
      write(`\nThe demo failed at step ${count}: ${why}\n`);
    },
  };
}
