import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScannedDocument } from '#client/range-scan.ts';
import { columnsOf, exportedText, headOf, type WrittenForm } from './document-writer.ts';

const csv: WrittenForm = { format: 'csv', keyField: '_key', fields: ['a', 'b'], separator: ',' };
const document = (text: string) =>
  ({ key: 'k', value: Buffer.from(text), isJson: true }) as unknown as ScannedDocument;
const rowOf = (text: string, form: Partial<WrittenForm> = {}) =>
  exportedText(document(text), { ...csv, ...form }, true);

test('numbers of CSV keep their digits, alone and in lists and objects', () => {
  assert.equal(
    rowOf('{"a":9007199254740993,"b":[1.10,12345678901234567890]}'),
    'k,9007199254740993,"[1.10,12345678901234567890]"\n',
  );
});

test('cells of a file with tabs are separated by tabs, and only cells with tabs are quoted', () => {
  const separator = '\t';
  assert.equal(headOf({ ...csv, separator }), '_key\ta\tb\n');
  assert.equal(rowOf('{"a":"x,y","b":"x\\ty"}', { separator }), 'k\tx,y\t"x\ty"\n');
});

test('a row of one empty cell is no empty line, which readers skip', () => {
  const form = { keyField: '', fields: ['a'] };
  assert.equal(rowOf('{}', form), '""\n');
  assert.equal(rowOf('{"a":""}', form), '""\n');
  assert.equal(rowOf('{}', { keyField: '' }), ',\n');
});

test('a field with the name of the key is found however it is written', () => {
  const lines: WrittenForm = { ...csv, format: 'lines' };
  for (const text of ['{"_key":1}', '{"\\u005fkey":1}'])
    assert.throws(() => exportedText(document(text), lines, true), /has a field "_key" itself/);
  assert.equal(exportedText(document('{"b":"\\u005fkey"}'), lines, true), '{"_key":"k","b":"\\u005fkey"}\n');
});

test('a field of documents that has the name of the column of the key is not left out of CSV unnoticed', () => {
  assert.throws(() => columnsOf(new Set(['b', '_key']), '_key'), /have a field "_key" themselves/);
  assert.deepEqual(columnsOf(new Set(['b', 'a', '_key']), 'id'), ['_key', 'a', 'b']);
  assert.deepEqual(columnsOf(new Set(['', 'a']), ''), ['', 'a']);
});
