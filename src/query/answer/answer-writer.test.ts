import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { type AnswerSink, AnswerWriter } from './answer-writer.ts';

function aWriter() {
  const clock = new ManualClock();
  const sent: string[] = [];
  const sink: AnswerSink = {
    begin: (status) => void sent.push(`${status}`),
    write: (text) => sent.push(text) > 0,
    drained: () => Promise.resolve(),
    end: (text) => void sent.push(text),
  };
  return { clock, sent, writer: new AnswerWriter(sink, clock, false) };
}

test('rows are sent ten milliseconds after a wait for more begins', () => {
  const { clock, sent, writer } = aWriter();
  writer.beginRows();
  writer.flushSoon();
  clock.advance(1_000);
  assert.deepEqual(sent, [], 'there are no rows yet');
  writer.row('1');
  assert.equal(writer.bytes, 1);
  writer.flushSoon();
  clock.advance(9);
  writer.row('2');
  writer.flushSoon();
  assert.deepEqual(sent, []);
  clock.advance(1);
  assert.deepEqual(sent, ['200', '{\n"results": [\n1,\n2']);
  writer.row('3');
  writer.flushSoon();
  clock.advance(10);
  assert.deepEqual(sent.slice(2), [',\n3']);
  writer.endRows();
  writer.end(500);
  assert.deepEqual(sent.slice(3), ['\n]\n}\n']);
});

test('an answer that is complete without a wait is sent in one piece, with its status', () => {
  const { clock, sent, writer } = aWriter();
  writer.beginRows();
  writer.row('1');
  clock.advance(1_000);
  writer.endRows();
  writer.end(500);
  assert.deepEqual(sent, ['500', '{\n"results": [\n1\n]\n}\n']);
});
