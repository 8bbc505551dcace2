// The life cycle of one small index file, for tests that crash at every write of it: build, changes, deletions, a restart with its checkpoint,
// removal of vbuckets, a new build and the drop. `node index-file-steps.ts FOLDER` runs it and appends a byte to `FOLDER/steps`
// after each step.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { vbucketOf } from '#client/document-key.ts';
import { IndexFolder, IndexFolderReaders } from '#index/store/index-folder.adapter.ts';
import type { DocumentRows, FileIdentity, IndexFile, VbPosition } from '#index/store/index-store.ts';
import { silentLog } from '#ports/log.ts';

export const stepsFile = 'steps';
export const identity: FileIdentity = {
  indexId: 'a1',
  bucketUuid: 'b0',
  collectionId: 8,
  isPrimary: false,
  fingerprint: 'one',
};

const rowsOf = (id: number, ...keys: string[]): DocumentRows => ({
  id: Buffer.from(`document ${id}`),
  keys: keys.map((key) => Buffer.from(key)),
});
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);
const positionAt = (seqno: number): VbPosition => ({
  vb: 1,
  uuid: 5n,
  seqno,
  snapshotStart: seqno,
  snapshotEnd: seqno,
  completeSeqno: seqno,
});
const vbuckets = new Set(range(0, 30).map((id) => vbucketOf(Buffer.from(`document ${id}`))));

/** Runs the life cycle; calls `done` after each step with the open file, null when there is none. */
export function runSteps(folder: string, done: (file: IndexFile | null) => void): void {
  const store = new IndexFolder(folder, silentLog);
  let file = store.open(identity);
  const build = (seqno: number, ids: number[], prefix: string): void => {
    file.stage(ids.map((id) => rowsOf(id, `${prefix}${id % 7}`, `${prefix}tag`)));
    file.commit([], [positionAt(seqno)]);
  };
  const reopen = (): void => {
    file.close();
    file = store.open(identity);
  };
  const steps: (() => void)[] = [
    () => {},
    () => build(1, range(0, 40), 'k'),
    () => build(2, range(40, 80), 'k'),
    () => file.markBuilt(),
    () => file.commit([rowsOf(3, 'changed'), rowsOf(90, 'new', 'tag')], [positionAt(3)]),
    () => file.commit([rowsOf(4), rowsOf(5), rowsOf(90)], [positionAt(4)]),
    reopen,
    // Rows of many pages, which the next checkpoint writes over the old ones.
    () =>
      file.commit(
        range(0, 400).map((id) => rowsOf(id, 'l'.repeat(40) + id)),
        [positionAt(5)],
      ),
    reopen,
    () => file.remove(vbuckets),
    () => file.remove(null),
    () => build(6, range(0, 60), 'again'),
    () => file.markBuilt(),
    reopen,
    () => file.commit([rowsOf(1, 'last')], [positionAt(7)]),
  ];
  for (const step of steps) {
    step();
    done(file);
  }
  file.close();
  store.remove(identity.bucketUuid, identity.indexId);
  done(null);
}

/** All that scans and followers read of a file. */
export function stateOf(folder: string, file: IndexFile | null): string {
  if (file === null) return emptyState;
  const reader = new IndexFolderReaders(folder).open(identity.bucketUuid, identity.indexId);
  try {
    const everything = { start: Buffer.alloc(0), end: null, accepts: null };
    const rows = reader.page(everything, { after: null, isReverse: false, limit: 10_000 });
    const positions = file.positions().map(({ vb, uuid, seqno }) => `${vb} ${uuid} ${seqno}`);
    return stateText(
      rows.map(({ key, id }) => `${key}=${id}`),
      positions,
      file,
    );
  } finally {
    reader.close();
  }
}

const stateText = (
  rows: string[],
  positions: string[],
  { rows: counted, isBuilt }: Pick<IndexFile, 'rows' | 'isBuilt'>,
) => JSON.stringify({ counted, isBuilt, positions, rows });

/** The state of a new file, and of one that was dropped. */
export const emptyState = stateText([], [], { rows: 0, isBuilt: false });

if (import.meta.main) {
  const folder = process.argv[2] as string;
  runSteps(folder, () => appendFileSync(join(folder, stepsFile), '.'));
}
