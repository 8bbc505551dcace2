import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { vbucketOf } from '#client/document-key.ts';
import { silentLog } from '#ports/log.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { primaryKey } from '../keys/primary-key.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import { IndexFolder, IndexFolderReaders } from './index-folder.adapter.ts';
import type {
  DocumentRows,
  FileIdentity,
  IndexFile,
  IndexReader,
  StoredRow,
  VbPosition,
} from './index-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'divan-index-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const everything: KeyInterval = { start: Buffer.alloc(0), end: null, accepts: null };
let lastIndexId = 0;

const newIdentity = (isPrimary = false): FileIdentity => ({
  indexId: (++lastIndexId).toString(16),
  bucketUuid: 'b0',
  collectionId: 8,
  isPrimary,
  fingerprint: 'one',
});

type Step =
  | { kind: 'commit' | 'stage'; documents: { id: string; keys: string[] }[] }
  | { kind: 'reopen' | 'remove all' }
  | { kind: 'remove'; ids: string[] };

const ids = fc.constantFrom(...Array.from({ length: 12 }, (_, at) => `document ${at}`));
const documents = fc.array(
  fc.record({ id: ids, keys: fc.uniqueArray(fc.string({ maxLength: 2 }), { maxLength: 12 }) }),
  { maxLength: 6 },
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ kind: fc.constant('commit' as const), documents }),
    fc.record({ kind: fc.constant('stage' as const), documents }),
    fc.record({ kind: fc.constantFrom('reopen' as const, 'remove all' as const) }),
    fc.record({ kind: fc.constant('remove' as const), ids: fc.array(ids, { maxLength: 2 }) }),
  ),
  { maxLength: 12 },
);

test('after random changes a file has the rows of the newest version of each document', () => {
  const seed = printedSeed(console.log);
  fc.assert(
    fc.property(steps, (history) => {
      const run = new FileRun(newIdentity());
      try {
        for (const step of history) run.run(step);
        run.run({ kind: 'commit', documents: [] });
        assert.deepEqual(run.stored(), run.expected());
        assert.equal(run.file.rows, run.expected().length);
      } finally {
        run.file.close();
      }
    }),
    { numRuns: 150, seed },
  );
});

/** Applies each step to a file and to a model of it. */
class FileRun {
  readonly identity: FileIdentity;
  file: IndexFile;
  private readonly model = new Map<string, string[]>();
  private readonly staged = new Map<string, string[]>();

  constructor(identity: FileIdentity) {
    this.identity = identity;
    this.file = storeOf().open(identity);
  }

  run(step: Step): void {
    if (step.kind === 'commit') this.commit(step.documents);
    else if (step.kind === 'stage') this.stage(step.documents);
    else if (step.kind === 'reopen') this.reopen();
    else
      this.remove(step.kind === 'remove' ? new Set(step.ids.map((id) => vbucketOf(Buffer.from(id)))) : null);
  }

  stored(): string[] {
    const reader = readers.open(this.identity.bucketUuid, this.identity.indexId);
    try {
      return textsOf(reader.page(everything, { after: null, isReverse: false, limit: 10_000 }));
    } finally {
      reader.close();
    }
  }

  expected(): string[] {
    return [...this.model].flatMap(([id, keys]) => keys.map((key) => `${key}=${id}`)).sort(byBytes);
  }

  private commit(changes: readonly { id: string; keys: string[] }[]): void {
    this.file.commit(changes.map(rowsOf), []);
    for (const [id, keys] of this.staged) this.model.set(id, keys);
    this.staged.clear();
    for (const { id, keys } of changes) this.model.set(id, keys);
  }

  /** Only documents without rows may be staged. */
  private stage(changes: readonly { id: string; keys: string[] }[]): void {
    for (const change of changes) {
      if (this.model.get(change.id)?.length || this.staged.has(change.id)) continue;
      this.file.stage([rowsOf(change)]);
      this.staged.set(change.id, change.keys);
    }
  }

  private reopen(): void {
    this.file.close();
    this.staged.clear();
    this.file = storeOf().open(this.identity);
  }

  private remove(vbuckets: ReadonlySet<number> | null): void {
    this.file.remove(vbuckets);
    this.staged.clear();
    for (const id of [...this.model.keys()]) {
      if (vbuckets === null || vbuckets.has(vbucketOf(Buffer.from(id)))) this.model.delete(id);
    }
  }
}

test('positions read back as committed, and are removed with their vbuckets', () => {
  const identity = newIdentity();
  const file = storeOf().open(identity);
  const position: VbPosition = {
    vb: 7,
    uuid: 2n ** 64n - 1n,
    seqno: 2 ** 43,
    snapshotStart: 1,
    snapshotEnd: 2 ** 43,
    completeSeqno: 5,
  };
  file.commit([], [position, { ...position, vb: 8 }]);
  file.markBuilt();
  file.close();
  const again = storeOf().open(identity);
  assert.deepEqual(again.positions(), [position, { ...position, vb: 8 }]);
  assert.equal(again.isBuilt, true);
  again.remove(new Set([7]));
  assert.deepEqual(again.positions(), [{ ...position, vb: 8 }]);
  again.close();
});

test('a failed commit changes nothing, and the next one succeeds', () => {
  const identity = newIdentity();
  const file = storeOf().open(identity);
  file.commit([rowsOf({ id: 'a', keys: ['1'] })], []);
  const unencodable = { id: Buffer.from('b'), keys: [null as never] };
  assert.throws(() => file.commit([rowsOf({ id: 'a', keys: ['2'] }), unencodable], []));
  assert.equal(file.rows, 1);
  file.commit([rowsOf({ id: 'a', keys: ['3', '4'] })], []);
  assert.equal(file.rows, 2);
  file.close();
});

test('documents whose staging failed are written once', () => {
  const identity = newIdentity();
  const file = storeOf().open(identity);
  const documents = Array.from({ length: 40 }, (_, at) => rowsOf({ id: `${at}`, keys: ['1'] }));
  const { db } = file as unknown as { db: DatabaseSync };
  // SQLite refuses the second insert, as when it has no memory.
  db.exec(`create temp trigger refuse before insert on stage when new.id = x'${Buffer.from('20').toString('hex')}'
    begin select raise(abort, 'no memory'); end`);
  assert.throws(() => file.stage(documents), /no memory/);
  db.exec('drop trigger refuse');
  file.stage([rowsOf({ id: 'later', keys: ['1'] })]);
  file.commit([], []);
  assert.equal(file.rows, 41);
  file.close();
});

test('a primary index has one row for each document', () => {
  const identity = newIdentity(true);
  const file = storeOf().open(identity);
  const row = (id: string): DocumentRows => ({ id: Buffer.from(id), keys: [primaryKey(Buffer.from(id))] });
  file.stage([row('b')]);
  file.commit([], []);
  file.commit([row('a'), row('b')], []);
  file.commit(
    [
      { id: Buffer.from('b'), keys: [] },
      { id: Buffer.from('c'), keys: [] },
    ],
    [],
  );
  assert.equal(file.rows, 1);
  file.close();
});

for (const [what, damage] of [
  ['has no pages', (path: string) => writeFileSync(path, 'not an index')],
  ['is cut short', (path: string) => truncateSync(path, 5_000)],
] as const) {
  test(`a file that ${what} is replaced by an empty one`, () => {
    const identity = newIdentity();
    const file = storeOf().open(identity);
    file.commit(
      Array.from({ length: 500 }, (_, at) => rowsOf({ id: `${at}`, keys: ['x'] })),
      [],
    );
    file.markBuilt();
    file.close();
    damage(join(folder, identity.bucketUuid, `${identity.indexId}.index`));
    const again = storeOf().open(identity);
    assert.deepEqual([again.rows, again.isBuilt, again.positions()], [0, false, []]);
    again.close();
  });
}

for (const [what, change] of [
  ['a cut history', "update applied set uuid = x'00' where vb = 7"],
  ['a history of another type', "update applied set uuid = 'twelve bytes'"],
  ['a seqno above all others', 'update applied set seqno = 9223372036854775807'],
  ['a negative seqno', 'update applied set complete = -1'],
  ['a text for a seqno', "update applied set snapshot_start = 'x'"],
  ['a vbucket that does not exist', 'update applied set vb = 1024 where vb = 7'],
  ['a damaged number of rows', "update meta set value = x'07' where name = 'rows'"],
] as const)
  test(`a file with ${what} is replaced by an empty one`, () => {
    const identity = newIdentity();
    const file = storeOf().open(identity);
    const position = { vb: 7, uuid: 1n, seqno: 4, snapshotStart: 1, snapshotEnd: 4, completeSeqno: 4 };
    file.commit([rowsOf({ id: 'a', keys: ['1'] })], [position, { ...position, vb: 8 }]);
    file.close();
    const db = new DatabaseSync(join(folder, identity.bucketUuid, `${identity.indexId}.index`));
    db.exec(change);
    db.close();
    const again = storeOf().open(identity);
    assert.deepEqual([again.rows, again.positions()], [0, []]);
    again.close();
  });

for (const isPrimary of [false, true])
  test(`a ${isPrimary ? 'primary' : 'secondary'} index with a flipped bit in a row is replaced, wherever it is`, (t) => {
    let seen = 0;
    const file = (identity: FileIdentity) => join(folder, identity.bucketUuid, `${identity.indexId}.index`);
    const key = (id: string) => (isPrimary ? primaryKey(Buffer.from(id)) : Buffer.from('a key'));
    const newFile = (): FileIdentity => {
      const identity = newIdentity(isPrimary);
      const opened = storeOf().open(identity);
      opened.commit([{ id: Buffer.from('an id'), keys: [key('an id')] }], []);
      opened.close();
      const reopened = storeOf().open(identity);
      assert.equal(reopened.rows, 1);
      reopened.close();
      return identity;
    };
    const bytes = readFileSync(file(newFile()));
    for (const text of ['an id', 'a key']) {
      for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
        const identity = newFile();
        const flipped = readFileSync(file(identity));
        flipped[at + 2] = (flipped[at + 2] as number) ^ 1;
        writeFileSync(file(identity), flipped);
        const again = storeOf().open(identity);
        t.assert.equal(again.rows, 0, `${text} at ${at}`);
        again.close();
        seen++;
      }
    }
    assert.equal(seen, isPrimary ? 2 : 4);
  });

test('a file of another definition is replaced', () => {
  const identity = newIdentity();
  const file = storeOf().open(identity);
  file.commit([rowsOf({ id: 'a', keys: ['1'] })], []);
  file.close();
  const other = storeOf().open({ ...identity, fingerprint: 'two' });
  assert.equal(other.rows, 0);
  other.close();
});

test('the pages of a reader show one snapshot until it is refreshed, in both directions', () => {
  const identity = newIdentity();
  const file = storeOf().open(identity);
  file.commit(
    Array.from({ length: 10 }, (_, at) => rowsOf({ id: `${at}`, keys: ['k'] })),
    [],
  );
  const reader = readers.open(identity.bucketUuid, identity.indexId);
  const first = reader.page(everything, { after: null, isReverse: false, limit: 4 });
  file.commit([rowsOf({ id: '9', keys: [] }), rowsOf({ id: '4', keys: ['a'] })], []);
  const rest = reader.page(everything, { after: first.at(-1) ?? null, isReverse: false, limit: 100 });
  assert.deepEqual(
    textsOf([...first, ...rest]),
    Array.from({ length: 10 }, (_, at) => `k=${at}`),
  );
  reader.refresh();
  const last = reader.page(everything, { after: null, isReverse: true, limit: 3 });
  const before = reader.page(everything, { after: last.at(-1) ?? null, isReverse: true, limit: 100 });
  assert.deepEqual(
    textsOf([...last, ...before]),
    ['8', '7', '6', '5', '3', '2', '1', '0'].map((id) => `k=${id}`).concat('a=4'),
  );
  for (const isReverse of [false, true]) {
    const page = { after: null, isReverse, limit: 20, isOnly: true };
    const idsOf = (idsOnly: boolean) => reader.page(everything, { ...page, idsOnly }).map(({ id }) => id);
    assert.deepEqual(idsOf(true), idsOf(false));
  }
  reader.close();
  file.close();
});

test('pages of any size have the same rows, for keys and ids of any bytes', () => {
  const key = fc.uint8Array({ minLength: 1, maxLength: 600, size: 'max' });
  const some = fc.tuple(
    fc.string({ unit: 'binary', maxLength: 40, size: 'max' }),
    fc.array(key, { maxLength: 2 }),
  );
  const documents = fc.sample(some, { numRuns: 700, seed: printedSeed(console.log) });
  const identity = newIdentity();
  const file = storeOf().open(identity);
  const idOf = (text: string, at: number): Buffer => Buffer.from(`${at}${text}`.toWellFormed());
  file.commit(
    documents.map(([text, keys], at) => ({ id: idOf(text, at), keys: distinct(keys) })),
    [],
  );
  const reader = readers.open(identity.bucketUuid, identity.indexId);
  for (const isReverse of [false, true]) {
    const [small, large] = [7, 300].map((limit) => allRows(reader, isReverse, limit));
    assert.equal(small?.length, file.rows);
    assert.deepEqual(large, small);
  }
  reader.close();
  file.close();
});

/** Key, in hexadecimal digits, and id of each row. */
function allRows(reader: IndexReader, isReverse: boolean, limit: number): string[] {
  const rows: StoredRow[] = [];
  for (;;) {
    const page = reader.page(everything, { after: rows.at(-1) ?? null, isReverse, limit });
    rows.push(...page);
    if (page.length < limit) return rows.map(({ key, id }) => `${key.toString('hex')}=${id}`);
  }
}

const distinct = (keys: readonly Uint8Array[]): Uint8Array[] => [
  ...new Map(keys.map((key) => [Buffer.from(key).toString('hex'), key])).values(),
];
const readers = new IndexFolderReaders(folder);
const storeOf = (): IndexFolder => new IndexFolder(folder, silentLog);
const rowsOf = ({ id, keys }: { id: string; keys: readonly string[] }): DocumentRows => ({
  id: Buffer.from(id),
  keys: keys.map((key) => Buffer.from(key)),
});
const textsOf = (rows: readonly StoredRow[]): string[] =>
  rows.map(({ key, id }) => `${key.toString()}=${id}`);
const byBytes = (left: string, right: string): number => {
  const [k1, k2] = [left, right].map((text) => Buffer.from(text.slice(0, text.lastIndexOf('='))));
  const [i1, i2] = [left, right].map((text) => Buffer.from(text.slice(text.lastIndexOf('=') + 1)));
  return Buffer.compare(k1 as Buffer, k2 as Buffer) || Buffer.compare(i1 as Buffer, i2 as Buffer);
};
