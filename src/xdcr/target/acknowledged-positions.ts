// Up to where the target has acknowledged writes, by vbucket: the positions in the replies to them.
import { vbucketCount } from '#client/document-key.ts';
import type { ReachedPosition } from '#client/reached-position.ts';
import { readU32 } from '#wire/bytes.ts';
import { type Frame, responseStatus } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';

const tokenBytes = 16;

export class AcknowledgedPositions {
  /** The two words of the uuid of each vbucket, and its seqno; 0: none. */
  private readonly uuids = new Uint32Array(2 * vbucketCount);
  private readonly seqnos = new Float64Array(vbucketCount);

  /** A reply without a position, as that to a version that lost, changes nothing. */
  add(vb: number, frame: Frame): void {
    const { buffer, extrasStart, keyStart } = frame;
    if (responseStatus(frame) !== Status.success || keyStart - extrasStart < tokenBytes) return;
    const uuidHi = readU32(buffer, extrasStart);
    const uuidLo = readU32(buffer, extrasStart + 4);
    const seqno = readU32(buffer, extrasStart + 8) * 2 ** 32 + readU32(buffer, extrasStart + 12);
    const isSame = this.uuids[2 * vb] === uuidHi && this.uuids[2 * vb + 1] === uuidLo;
    if (isSame && seqno <= (this.seqnos[vb] ?? 0)) return;
    this.uuids[2 * vb] = uuidHi;
    this.uuids[2 * vb + 1] = uuidLo;
    this.seqnos[vb] = seqno;
  }

  get(vb: number): ReachedPosition | undefined {
    const seqno = this.seqnos[vb] ?? 0;
    if (seqno === 0) return undefined;
    const [hi = 0, lo = 0] = this.uuids.subarray(2 * vb, 2 * vb + 2);
    return { uuid: (BigInt(hi) << 32n) | BigInt(lo), seqno };
  }
}
