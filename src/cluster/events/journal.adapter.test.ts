import assert from 'node:assert/strict';
import {
  appendFileSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { FolderJournal } from './journal.adapter.ts';

const bounds = { segmentBytes: 100, segments: 3 };

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-journal-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'events');
}

function aJournal(t: TestContext, folder: string): FolderJournal {
  const journal = new FolderJournal(folder, 'events', bounds);
  t.after(() => journal.close());
  return journal;
}

async function linesOf(journal: FolderJournal): Promise<string[]> {
  const segments: string[][] = [];
  for await (const segment of journal.segments()) segments.unshift(segment);
  return segments.flat();
}

describe('a journal in a folder', () => {
  it('has nothing before the first line, and then every line in order', async (t) => {
    const journal = aJournal(t, aFolder(t));
    assert.deepEqual(await linesOf(journal), []);
    journal.append('a');
    journal.append('b');
    assert.deepEqual(await linesOf(journal), ['a', 'b']);
  });

  it('can be read by another instance although it was never closed', async (t) => {
    const folder = aFolder(t);
    aJournal(t, folder).append('a');
    const next = aJournal(t, folder);
    next.append('b');
    assert.deepEqual(await linesOf(next), ['a', 'b']);
  });

  it('syncs a line that was written during a sync, also in a file that is full or closed', (t) => {
    const syncs: { fd: number; done: () => void }[] = [];
    const folder = aFolder(t);
    const journal = new FolderJournal(folder, 'events', bounds, undefined, (fd, done) => {
      syncs.push({ fd, done: () => done(null) });
    });
    const next = () => {
      const sync = syncs.shift();
      assert.ok(sync, 'no sync is running');
      // Throws if the file is closed.
      fstatSync(sync.fd);
      sync.done();
      return sync.fd;
    };
    journal.append('a');
    journal.append('b');
    assert.equal(syncs.length, 1);
    const first = next();
    assert.equal(next(), first);
    assert.equal(syncs.length, 0);

    journal.append('c');
    journal.append('d');
    journal.append('x'.repeat(bounds.segmentBytes));
    const [full, second] = [next(), next()];
    assert.notEqual(second, full);
    assert.equal(next(), full);
    assert.throws(() => fstatSync(full), { code: 'EBADF' });

    journal.append('y'.repeat(bounds.segmentBytes));
    journal.close();
    const closed = next();
    assert.throws(() => fstatSync(closed), { code: 'EBADF' });
  });

  it('continues with a new line after a truncated line', async (t) => {
    const folder = aFolder(t);
    const journal = aJournal(t, folder);
    journal.append('whole');
    journal.close();
    appendFileSync(join(folder, 'events.1.jsonl'), 'cut o');
    journal.append('next');
    assert.deepEqual(await linesOf(journal), ['whole', 'cut o', 'next']);
  });

  it('keeps only the newest lines, within its bounds', async (t) => {
    const folder = aFolder(t);
    const journal = aJournal(t, folder);
    const line = (number: number) => `${number} ${'x'.repeat(30)}`;
    for (let number = 0; number < 100; number++) journal.append(line(number));
    const lines = await linesOf(journal);
    assert.equal(lines.at(-1), line(99));
    assert.deepEqual(
      lines,
      Array.from({ length: lines.length }, (_, index) => line(100 - lines.length + index)),
    );
    const files = readdirSync(folder);
    assert.equal(files.length, bounds.segments);
    for (const file of files) assert.ok(statSync(join(folder, file)).size <= bounds.segmentBytes);
  });

  it('reads a line longer than a segment as a segment of its own', async (t) => {
    const journal = aJournal(t, aFolder(t));
    const long = 'x'.repeat(300);
    for (const line of ['a', long, 'b']) journal.append(line);
    assert.deepEqual(await linesOf(journal), ['a', long, 'b']);
  });

  it('is readable by its owner only and ignores other files', async (t) => {
    const folder = aFolder(t);
    const journal = aJournal(t, folder);
    journal.append('a');
    writeFileSync(join(folder, 'events.9.jsonl.bak'), 'x\n');
    writeFileSync(join(folder, 'refusals.9.jsonl'), 'x\n');
    assert.deepEqual(await linesOf(journal), ['a']);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder, 'events.1.jsonl')).mode & 0o777, 0o600);
  });

  it('throws if it cannot store a line', (t) => {
    const folder = aFolder(t);
    writeFileSync(folder, 'not a folder');
    assert.throws(() => aJournal(t, folder).append('a'), { code: 'ENOTDIR' });
  });

  it('skips damaged lines, reports each once, and reads those of older versions', async (t) => {
    const folder = aFolder(t);
    const path = join(folder, 'events.1.jsonl');
    const damages: number[] = [];
    const journal = new FolderJournal(folder, 'events', { segmentBytes: 10_000, segments: 1 }, ({ line }) =>
      damages.push(line),
    );
    t.after(() => journal.close());
    mkdirSync(folder);
    writeFileSync(path, '{"old":1}\n');
    for (const name of ['a', 'b', 'c']) journal.append(`{"name":"${name}"}`);
    assert.deepEqual(await linesOf(journal), ['{"old":1}', '{"name":"a"}', '{"name":"b"}', '{"name":"c"}']);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"b"', '"d"'));
    for (let i = 0; i < 2; i++)
      assert.deepEqual(await linesOf(journal), ['{"old":1}', '{"name":"a"}', '{"name":"c"}']);
    assert.deepEqual(damages, [3]);
  });

  it('reports any flipped bit of a line, and never reads it as another', async (t) => {
    const folder = aFolder(t);
    const path = join(folder, 'events.1.jsonl');
    const line = '{"atMs":1234,"name":"node_started"}';
    aJournal(t, folder).append(line);
    const bytes = readFileSync(path);
    const missed: number[] = [];
    for (let bit = 0; bit < (bytes.length - 1) * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      writeFileSync(path, flipped);
      let reported = 0;
      const journal = new FolderJournal(folder, 'events', bounds, () => reported++);
      const found = await linesOf(journal);
      assert.deepEqual(
        found.filter((entry) => entry.endsWith('}')),
        [],
        `bit ${bit}`,
      );
      if (reported === 0) missed.push(bit >> 3);
    }
    assert.deepEqual(missed, []);
  });
});
