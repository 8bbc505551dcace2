// The opcode table: every declared command by its opcode.
import { assert } from '#base/assert.ts';
import type { Command } from '../define-command.ts';
import * as bucket from './bucket.ts';
import * as documents from './documents.ts';
import * as session from './session.ts';
import * as stream from './stream.ts';
import * as subdocument from './subdocument.ts';

export const commands: readonly Command[] = [session, bucket, documents, stream, subdocument].flatMap(
  (group) => Object.values(group),
);

/** Indexed by opcode; undefined entries are unknown commands. */
export const commandTable: readonly (Command | undefined)[] = tableOf(commands);

function tableOf(all: readonly Command[]): (Command | undefined)[] {
  const table: (Command | undefined)[] = new Array(256).fill(undefined);
  for (const command of all) {
    assert(table[command.opcode] === undefined, `two commands have opcode ${command.opcode}`);
    table[command.opcode] = command;
  }
  return table;
}
