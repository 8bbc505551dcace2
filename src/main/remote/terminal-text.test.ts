import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeLine } from './terminal-text.ts';

const written = (text: string, isTTY: boolean): string => {
  let shown = '';
  writeLine(text, { isTTY, write: (part: string | Uint8Array) => (shown += part) !== '' });
  return shown;
};

test('a terminal gets no control characters from keys and documents, but line ends, tabs and all letters', () => {
  assert.equal(
    written('\x1b]0;title\x07\x9b2J\r\x7f', true),
    '\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{d}\\u{7f}\n',
  );
  assert.equal(written('ü 👩‍🔬\tone\ntwo', true), 'ü 👩‍🔬\tone\ntwo\n');
});

test('a file or a pipe gets the text unchanged', () => {
  assert.equal(written('a\x1b[2Jb', false), 'a\x1b[2Jb\n');
});
