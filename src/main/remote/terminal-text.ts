// What a verb prints when a person reads it: keys, names and documents come from clients.
import type { WriteStream } from 'node:tty';

type Output = Pick<WriteStream, 'write'> & { readonly isTTY?: boolean };

/** Control characters but line ends and tabs: they could move the cursor or change the terminal. */
const controls = /[^\P{Cc}\n\t]/gu;

/** Writes a line: on a terminal with its control characters as escapes, to a file or a pipe unchanged. */
export function writeLine(text: string, output: Output = process.stdout): void {
  const shown = output.isTTY === true ? text.replace(controls, escapeOf) : text;
  output.write(`${shown}\n`);
}

const escapeOf = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;
