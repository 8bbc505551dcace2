// Up to where an import has written each vbucket, to find out later whether its node still has that: a vbucket that moves gets a new history, which
// begins where the former one ended, and one whose node lost writes gets a history that begins before them.
import type { StoreReply } from '#client/bucket-client.ts';
import type { VbucketHistories } from '../remote/bucket-data.ts';

/** By vbucket: the uuids of the histories that the import wrote in, each with its last seqno there. */
export type WrittenPositions = Record<string, Record<string, number>>;

export function noteWritten(positions: WrittenPositions, { token }: Pick<StoreReply, 'token'>): void {
  if (token === null) return;
  positions[token.vb] ??= {};
  const byUuid = positions[token.vb] as Record<string, number>;
  const uuid = String(token.uuid);
  byUuid[uuid] = Math.max(byUuid[uuid] ?? 0, token.seqno);
}

/** Whether a vbucket lost what was written. */
export function hasLost(
  positions: WrittenPositions,
  historiesOf: (vb: number) => VbucketHistories | undefined,
): boolean {
  return Object.entries(positions).some(([vb, byUuid]) => {
    const histories = historiesOf(Number(vb)) ?? [];
    return Object.entries(byUuid).some(([uuid, seqno]) => {
      const index = histories.findIndex(([known]) => known === uuid);
      const next = histories[index - 1];
      return index < 0 || (next !== undefined && next[1] < seqno);
    });
  });
}
