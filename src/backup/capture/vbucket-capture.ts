// Collects the changes of one vbucket in blocks. The capture is complete at the end of the first snapshot that reaches the target, so that the
// backup has the state of the vbucket at exactly one seqno.

import type { FailoverEntry } from '#client/change-connection.ts';
import { Datatype } from '#wire/status.ts';
import type { DataWriter } from '../archive/data-file.adapter.ts';
import { blockBytes } from '../format/block.ts';
import { type FrameBuffer, type FrameContent, FrameKind } from '../format/frame.ts';
import type { CountedVbucket } from '../format/manifest.ts';

/** The value of the last frame of a vbucket, as JSON: what its record in the manifest has, apart from the offset of that frame's block. */
export type EndRecord = Omit<CountedVbucket, 'last'>;

export class VbucketCapture {
  readonly vb: number;
  /** The stream has sent all changes of the backup. */
  isComplete = false;
  documents = 0;
  deletions = 0;
  private readonly byCollection = new Map<number, number>();
  private readonly writer: DataWriter;
  private readonly frames: FrameBuffer;
  private readonly from: number;
  private readonly target: number;
  private log: readonly FailoverEntry[] = [];
  private seqno: number;
  private snapshotEnd: number;
  private lastBlock = 0;
  private blocks = 0;

  constructor(
    vb: number,
    { from, target }: { from: number; target: number },
    writer: DataWriter,
    frames: FrameBuffer,
  ) {
    this.vb = vb;
    this.writer = writer;
    this.frames = frames;
    this.from = from;
    this.target = target;
    this.seqno = from;
    this.snapshotEnd = from;
    frames.clear();
  }

  opened(log: readonly FailoverEntry[]): void {
    this.log = log;
    this.advance(this.seqno);
  }

  snapshot(end: number): void {
    this.snapshotEnd = end;
  }

  document(content: FrameContent): void {
    this.frames.add(content);
    // At once: the block of a large document is not kept until the next one comes.
    if (this.frames.end >= blockBytes) this.writeBlock(false);
    if (content.kind === FrameKind.mutation) this.countDocument(content.collectionId);
    else this.deletions++;
    this.advance(content.seqno);
  }

  private countDocument(collectionId: number): void {
    this.documents++;
    this.byCollection.set(collectionId, (this.byCollection.get(collectionId) ?? 0) + 1);
  }

  advance(seqno: number): void {
    this.seqno = seqno;
    this.isComplete = this.seqno >= this.target && this.seqno >= this.snapshotEnd;
  }

  /** Writes the rest. A vbucket without changes has no block. */
  finish(): CountedVbucket {
    const { seqno, log, from } = this;
    const history = log.map((entry) => [entry.uuid.toString(), entry.seqno] as const);
    const range = { uuid: history[0]?.[0] ?? '0', history, from, to: seqno };
    const collections = Object.fromEntries(this.byCollection);
    const counts = { documents: this.documents, deletions: this.deletions, collections };
    if (this.documents + this.deletions === 0) return { ...range, last: 0, blocks: 0, ...counts };
    const record: EndRecord = { ...range, blocks: this.blocks + 1, ...counts };
    this.frames.add(endFrame(seqno, record));
    this.writeBlock(true);
    return { ...record, last: this.lastBlock };
  }

  private writeBlock(isLast: boolean): void {
    const { vb, frames, lastBlock: previous } = this;
    this.lastBlock = this.writer.append({ vb, isLast, frames: frames.count, previous }, frames.bytes);
    this.blocks++;
    frames.clear();
  }
}

const noKey = Buffer.alloc(0);

const endFrame = (seqno: number, record: EndRecord): FrameContent => ({
  kind: FrameKind.end,
  datatype: Datatype.json,
  collectionId: 0,
  casHi: 0,
  casLo: 0,
  rev: 0,
  seqno,
  flags: 0,
  expiry: 0,
  key: noKey,
  value: Buffer.from(JSON.stringify(record)),
});
