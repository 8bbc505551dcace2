// Lines on standard error that a pipe does not take.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PipedLines } from './log.adapter.ts';

/** A pipe with room for this many bytes. */
function aPipe(room: number) {
  const pipe = { room, text: '', waits: 0 };
  const lines = new PipedLines({
    write(bytes, from) {
      const taken = Math.min(pipe.room, bytes.length - from);
      if (taken === 0) throw Object.assign(new Error('no room'), { code: 'EAGAIN' });
      pipe.room -= taken;
      pipe.text += bytes.toString('utf8', from, from + taken);
      return taken;
    },
    wait: () => void pipe.waits++,
  });
  return { pipe, lines };
}

it('waits for the reader of a full pipe once, and then not again for each line until the pipe accepts a line', () => {
  const { pipe, lines } = aPipe(0);
  assert.throws(() => lines.write('one\n'), /no room/);
  const { waits } = pipe;
  assert.ok(waits > 0);
  for (let n = 0; n < 5; n++) assert.throws(() => lines.write('lost\n'), /no room/);
  assert.equal(pipe.waits, waits);
  pipe.room = 4;
  lines.write('two\n');
  assert.throws(() => lines.write('three\n'), /no room/);
  assert.equal(pipe.waits, 2 * waits);
});

it('does not continue a line that was cut off', () => {
  const { pipe, lines } = aPipe(2);
  assert.throws(() => lines.write('one\n'));
  pipe.room = 100;
  lines.write('two\n');
  lines.write('three\n');
  assert.equal(pipe.text, 'on\ntwo\nthree\n');
});
