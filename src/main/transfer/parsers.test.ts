// The parsers of imported files, whole and in chunks of every size.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CsvParser } from './csv-parser.ts';
import { JsonLinesParser } from './json-lines-parser.ts';
import { JsonListParser } from './json-list-parser.ts';
import {
  fileStart,
  recordBytesMax,
  type SourceParser,
  type SourceRecord,
  type StartPosition,
} from './source-record.ts';

type Make = (start: StartPosition) => SourceParser;
type Seen = [line: number, content: unknown];

const lines: Make = (start) => new JsonLinesParser(start);
const list: Make = (start) => new JsonListParser(start);
const csv: Make = (start) => new CsvParser(start, ',');

function recordsIn(make: Make, text: Buffer, chunkBytes: number, start = fileStart): SourceRecord[] {
  const parser = make(start);
  const records: SourceRecord[] = [];
  for (let at = start.offset; at < text.length; at += chunkBytes)
    records.push(...parser.push(text.subarray(at, at + chunkBytes)));
  return [...records, ...parser.end()];
}

const seenOf = ({ line, content, problem }: SourceRecord): Seen => [
  line,
  problem ?? (Buffer.isBuffer(content) ? content.toString() : content),
];

/** Checks that the records are the same in chunks of every size, and from the end of every record on. */
function check(make: Make, text: string, expected: Seen[]): void {
  const bytes = Buffer.from(text);
  const whole = recordsIn(make, bytes, bytes.length || 1);
  assert.deepEqual(whole.map(seenOf), expected);
  for (const chunkBytes of [1, 2, 3, 5, 8])
    assert.deepEqual(recordsIn(make, bytes, chunkBytes).map(seenOf), expected);
  for (const [index, { end: offset, endLine: line }] of whole.entries()) {
    const rest = recordsIn(make, bytes, 4, { offset, line });
    assert.deepEqual(rest.map(seenOf), expected.slice(index + 1), `from offset ${offset}`);
  }
}

describe('JSON lines', () => {
  it('gives each line with its number, without empty ones, and the last one without a line end', () => {
    check(lines, '{"a":1}\r\n\n  {"b":"\\n"}  \n3', [
      [1, '{"a":1}'],
      [3, '{"b":"\\n"}'],
      [4, '3'],
    ]);
    check(lines, '\ufeff{"a":1}\n', [[1, '{"a":1}']]);
    check(lines, '', []);
  });

  it('reports a line that is too long, and reads the next line', () => {
    const text = Buffer.concat([Buffer.alloc(recordBytesMax + 1, 'x'), Buffer.from('\n{}\n')]);
    assert.deepEqual(recordsIn(lines, text, 1 << 20).map(seenOf), [
      [1, 'is longer than 21 MiB'],
      [2, '{}'],
    ]);
  });
});

describe('a JSON list', () => {
  it('gives each element with the number of its first line', () => {
    check(list, '\ufeff[\n{"a":[1,{"b":"]},\\""}]},\n\n [2],"x,y",\n3.5 \n]\n', [
      [2, '{"a":[1,{"b":"]},\\""}]}'],
      [4, '[2]'],
      [4, '"x,y"'],
      [5, '3.5'],
    ]);
    check(list, '[]', []);
  });

  it('passes on the bytes of a broken element, and reads the next element', () => {
    check(list, '[{"a": },{"b": ]},{"c":1}]', [
      [1, '{"a": }'],
      [1, '{"b": ]}'],
      [1, '{"c":1}'],
    ]);
  });

  it('reports a file that is no list, a list without an end, and text after a list', () => {
    const problems = (text: string) => recordsIn(list, Buffer.from(text), 3).map(seenOf);
    assert.deepEqual(problems('{"a":1}\n'), [[1, 'the file should begin with [']]);
    assert.deepEqual(problems(' \n'), [[2, 'the file has no JSON list']]);
    assert.deepEqual(problems('[1,\n{"a":'), [
      [1, '1'],
      [2, 'the list has no end'],
    ]);
    assert.deepEqual(problems('[1] 2 3'), [
      [1, '1'],
      [1, 'there is text after the list'],
    ]);
  });
});

describe('CSV', () => {
  it('gives cells, with separators, line ends and quotes in quoted ones', () => {
    check(csv, '\ufeffa,b,c\r\n1,,"x,""y""\nz"\n\n"",2,3', [
      [1, ['a', 'b', 'c']],
      [2, ['1', '', 'x,"y"\nz']],
      [5, ['', '2', '3']],
    ]);
  });

  it('keeps the first character, which may share bytes with a byte order mark', () => {
    for (const first of ['价', '使', '»', 'x'])
      check(csv, `${first},b\n1,2\n`, [
        [1, [first, 'b']],
        [2, ['1', '2']],
      ]);
    check(csv, 'a', [[1, ['a']]]);
    check(csv, '\ufeff', []);
  });

  it('ends rows at carriage returns, also without a line feed', () => {
    check(csv, '\ufeffa,b\rc,"d\re"\r\r\nf,g\r', [
      [1, ['a', 'b']],
      [2, ['c', 'd\re']],
      [4, ['f', 'g']],
    ]);
  });

  it('reports broken rows and reads the rows after them', () => {
    check(csv, '"a"b,c\nd,e\n', [
      [1, 'there is text after a closing quote'],
      [2, ['d', 'e']],
    ]);
    const records = recordsIn(csv, Buffer.from([0x61, 0xff, 0x0a, 0x62, 0x0a, 0x22]), 2);
    assert.deepEqual(records.map(seenOf), [
      [1, 'is not UTF-8'],
      [2, ['b']],
      [3, 'a quote is never closed'],
    ]);
  });

  it('reports a row that is too long, and goes on at its next line end', () => {
    const text = Buffer.concat([Buffer.from('"'), Buffer.alloc(recordBytesMax, 'x'), Buffer.from('\na,b\n')]);
    assert.deepEqual(recordsIn(csv, text, 1 << 20).map(seenOf), [
      [1, 'is longer than 21 MiB'],
      [2, ['a', 'b']],
    ]);
  });
});
