// What a verb prints when a person reads it: keys, names and documents come from clients.
import type { WriteStream } from 'node:tty';
import { escapeOf } from '../terminal.ts';

type Output = Pick<WriteStream, 'write'> & { readonly isTTY?: boolean };

/** Control characters, without line ends and tabs. */
const controls = /[^\P{Cc}\n\t]/gu;

/** Writes a line: on a terminal with its control characters as escapes, to a file or a pipe unchanged. */
export function writeLine(text: string, output: Output = process.stdout): void {
  const shown = output.isTTY === true ? text.replace(controls, escapeOf) : text;
  output.write(`${shown}\n`);
}
