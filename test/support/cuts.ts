// Converts documents to cuts and loaded cuts to documents.
import assert from 'node:assert/strict';
import { type CutItem, CutReader, type CutState, CutWriter } from '#kv/data/cut.ts';
import type { BucketFiles, DiskEngine, LoadedValues } from '#kv/data/disk-engine.ts';
import { Datatype } from '#wire/status.ts';

export interface Doc {
  vb?: number;
  key: string;
  value?: string | Uint8Array;
  seqno: number;
  expiry?: number;
  bits?: number;
  rev?: number;
}

export const someFailover = Uint8Array.from({ length: 32 }, (_, i) => 255 - i);

export const aState = (changes: Partial<CutState> = {}): CutState => ({
  vb: 0,
  startSeqno: 1,
  endSeqno: 1,
  maxCasHi: 0xfedcba98,
  maxCasLo: 0xffffffff,
  maxDeletedRev: 2 ** 47 + 1,
  purgeSeqno: 3,
  manifestUid: 0xffffffff,
  items: 1,
  deleted: 0,
  snapStart: 1,
  snapEnd: 9,
  epoch: 2 ** 40 + 3,
  copy: 1,
  failover: someFailover,
  ...changes,
});

const itemOf = (doc: Doc): CutItem => {
  const key = Buffer.from(doc.key);
  const value = Buffer.from(doc.value ?? '');
  return {
    buffer: Buffer.concat([key, value]),
    keyStart: 0,
    keyEnd: key.length,
    valueStart: key.length,
    valueEnd: key.length + value.length,
    seqno: doc.seqno,
    casHi: 0x80000001,
    casLo: doc.seqno % 2 ** 32,
    rev: doc.rev ?? 2 ** 47 + 5,
    flags: 0xcafebabe,
    expiry: doc.expiry ?? 0,
    datatype: Datatype.json,
    bits: doc.bits ?? 0,
  };
};

/** One cut per vbucket; its items are in the order given. */
export function cutsOf(docs: readonly Doc[], state: Partial<CutState> = {}): Uint8Array {
  const writer = new CutWriter();
  const vbs = new Set(docs.map((doc) => doc.vb ?? 0));
  for (const vb of vbs) {
    const docsOfVbucket = docs.filter((doc) => (doc.vb ?? 0) === vb);
    writer.begin(someFailover.length);
    for (const doc of docsOfVbucket) writer.item(itemOf(doc));
    const seqnos = docsOfVbucket.map((doc) => doc.seqno);
    const [startSeqno, endSeqno] = [Math.min(...seqnos), Math.max(...seqnos)];
    writer.finish(aState({ vb, startSeqno, endSeqno, items: docsOfVbucket.length, ...state }));
  }
  return writer.drain();
}

/** The documents that the engine loads from a file, as plain values. */
export async function loaded(
  engine: DiskEngine,
  files: BucketFiles,
  file = 0,
  values: LoadedValues = 'all',
): Promise<Required<Doc>[]> {
  const docs: Required<Doc>[] = [];
  const addDocs = (batch: Uint8Array): void => void docs.push(...docsOf(batch));
  await engine.load(files.bucketUuid, file, addDocs, () => values);
  return docs;
}

/** The items of cuts as plain values. */
export function docsOf(batch: Uint8Array): Required<Doc>[] {
  const docs: Required<Doc>[] = [];
  const reader = new CutReader(batch);
  while (reader.nextCut()) while (reader.nextItem()) docs.push(docOf(reader.state.vb, reader.item));
  return docs;
}

function docOf(vb: number, item: CutItem): Required<Doc> {
  assert.equal(item.casHi, 0x80000001);
  assert.equal(item.casLo, item.seqno % 2 ** 32);
  assert.equal(item.flags, 0xcafebabe);
  assert.equal(item.datatype, Datatype.json);
  return {
    vb,
    key: item.buffer.toString('utf8', item.keyStart, item.keyEnd),
    value: item.buffer.toString('latin1', item.valueStart, item.valueEnd),
    seqno: item.seqno,
    expiry: item.expiry,
    bits: item.bits,
    rev: item.rev,
  };
}

/** Short text of each document. */
export const docTexts = (docs: readonly Doc[]): string[] =>
  docs.map(({ vb = 0, key, value = '', seqno }) => `${vb} ${seqno} ${key}=${value}`);
