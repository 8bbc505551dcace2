// Crashes of an index file: the process ends, or the machine loses power, at any of its writes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { builtC } from '../../../test/support/built-c.ts';
import {
  emptyState,
  identity,
  runSteps,
  stateOf,
  stepsFile,
} from '../../../test/support/index-file-steps.ts';
import { needs } from '../../../test/support/needs.ts';
import { IndexFolder } from './index-folder.adapter.ts';

interface Change {
  /** w: write, t: truncate to `offset`, u: unlink, s: sync. */
  readonly kind: string;
  readonly offset: number;
  readonly path: string;
  readonly bytes: Buffer;
}

const root = mkdtempSync(join(tmpdir(), 'divan-index-crash-'));
after(() => rmSync(root, { recursive: true, force: true }));
const skip = needs('compiler');
/** What index-file-steps.ts wrote in another process, and the state after each of its steps. */
let changes: Change[] = [];
const states = [emptyState];

before(() => {
  if (skip) return;
  const folder = join(root, 'recorded');
  mkdirSync(folder);
  const record = join(root, 'record');
  execFileSync(
    process.execPath,
    [new URL('../../../test/support/index-file-steps.ts', import.meta.url).pathname, folder],
    {
      env: {
        ...process.env,
        LD_PRELOAD: builtC('recording-writes.c', join(root, 'recording.so'), ['-shared', '-fPIC']),
        DIVAN_RECORD: record,
        DIVAN_RECORD_FOLDER: folder,
      },
    },
  );
  changes = changesOf(readFileSync(record), folder);
  const expected = join(root, 'expected');
  runSteps(expected, (file) => states.push(stateOf(expected, file)));
});

/** The bytes of each file after some changes. */
class Image {
  readonly files = new Map<string, Buffer>();
  steps = 0;

  apply({ kind, path, offset, bytes }: Change): void {
    if (path === stepsFile) this.steps += bytes.length;
    else if (kind === 'u') this.files.delete(path);
    else if (kind === 't') this.files.set(path, grown(this.files.get(path), offset).subarray(0, offset));
    else if (kind === 'w') {
      const file = Buffer.from(grown(this.files.get(path), offset + bytes.length));
      bytes.copy(file, offset);
      this.files.set(path, file);
    }
  }

  /** The state that the next process finds in these files; removes them. */
  stateInFolder(folder: string): string {
    for (const [path, bytes] of this.files) {
      mkdirSync(join(folder, identity.bucketUuid), { recursive: true });
      writeFileSync(join(folder, path), bytes);
    }
    const store = new IndexFolder(folder, silentLog);
    const file = store.open(identity);
    try {
      return stateOf(folder, file);
    } finally {
      file.close();
      rmSync(folder, { recursive: true });
    }
  }
}

const half = (change: Change): Change => ({
  ...change,
  bytes: change.bytes.subarray(0, change.bytes.length >> 1),
});

test('a process that ends at any write leaves the last acknowledged state or the state of that write', {
  skip,
}, () => {
  const image = new Image();
  for (const [at, change] of changes.entries()) {
    for (const last of change.kind === 'w' ? [half(change), change] : [change]) {
      const crashed = new Image();
      for (const [path, bytes] of image.files) crashed.files.set(path, bytes);
      crashed.apply(last);
      const found = crashed.stateInFolder(join(root, 'crashed'));
      const { steps } = image;
      assert.ok(
        states.slice(steps, steps + 2).includes(found),
        `change ${at} (${change.kind} ${change.path}) after step ${steps}: ${states.indexOf(found)}`,
      );
    }
    image.apply(change);
  }
  assert.equal(image.steps, states.length - 1);
});

for (const lost of ['.index', '.index-wal'])
  test(`a machine that loses power keeps an earlier state, without unsynced writes to *${lost}`, {
    skip,
  }, () => {
    const seen = new Image();
    for (const [at, change] of changes.entries()) {
      seen.apply(change);
      const image = withoutUnsynced(changes.slice(0, at + 1), lost);
      const found = image.stateInFolder(join(root, 'crashed'));
      assert.ok(
        states.slice(0, seen.steps + 2).includes(found),
        `change ${at} (${change.kind} ${change.path}) after step ${seen.steps} left no earlier state`,
      );
    }
  });

test('the files of a dropped index are found and removed, whichever of them are left', { skip }, () => {
  const base = join(identity.bucketUuid, `${identity.indexId}.index`);
  const paths = new Set(changes.map(({ path }) => path).filter((path) => path.includes('.index')));
  assert.deepEqual([...paths].sort(), [base, `${base}-journal`, `${base}-wal`]);
  for (const path of paths) {
    const folder = join(root, 'dropped');
    mkdirSync(join(folder, identity.bucketUuid), { recursive: true });
    writeFileSync(join(folder, path), 'left');
    const store = new IndexFolder(folder, silentLog);
    for (const { bucketUuid, indexId } of store.list()) store.remove(bucketUuid, indexId);
    assert.deepEqual(readdirSync(folder), [], path);
    rmSync(folder, { recursive: true });
  }
});

function withoutUnsynced(before: readonly Change[], lost: string): Image {
  const image = new Image();
  const isLost = ({ path }: Change): boolean => path.endsWith(lost);
  const synced = before.findLastIndex((change) => change.kind === 's' && isLost(change));
  for (const [at, change] of before.entries())
    if (at <= synced || !isLost(change) || change.kind === 'u') image.apply(change);
  return image;
}

function grown(file: Buffer | undefined, length: number): Buffer {
  const bytes = file ?? Buffer.alloc(0);
  return bytes.length >= length ? bytes : Buffer.concat([bytes, Buffer.alloc(length - bytes.length)]);
}

/** The recorded changes, without those of shared memory, which the first process that opens the file rebuilds. */
function changesOf(record: Buffer, folder: string): Change[] {
  const found: Change[] = [];
  for (let at = 0; at < record.length; ) {
    const end = record.indexOf('\n', at);
    const [kind = '', offset, length, path = ''] = record.toString('utf8', at, end).split(' ');
    at = end + 1 + Number(length);
    const bytes = record.subarray(end + 1, at);
    found.push({ kind, offset: Number(offset), path: path.slice(folder.length + 1), bytes });
  }
  return found.filter(({ path }) => !path.endsWith('-shm'));
}
