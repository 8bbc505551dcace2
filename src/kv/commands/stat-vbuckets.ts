// Groups of STAT about vbuckets.
import { Status } from '#wire/status.ts';
import type { Documents } from '../data/documents.ts';
import { stateName } from '../data/vbucket-state.ts';
import { type Figures, forVbuckets, type Group } from './stat-figures.ts';

/** `vbucket [vb]`. */
export const statStates = forVbuckets((vb, documents) => [[`vb_${vb}`, stateName(documents.stateOf(vb))]]);

/** `vbucket-seqno [vb]`. */
export const statSeqnos = forVbuckets(function* (vb, documents, { bucket }): Figures {
  const high = documents.highSeqno(vb);
  const persisted = documents.persistedSeqno(vb);
  yield [`vb_${vb}:high_seqno`, high];
  yield [`vb_${vb}:abs_high_seqno`, high];
  yield [`vb_${vb}:last_persisted_seqno`, persisted];
  yield [`vb_${vb}:purge_seqno`, bucket.engine?.vbucketFigures(vb).purgeSeqno ?? 0];
  yield [`vb_${vb}:uuid`, uuidText(vb, documents)];
  yield [`vb_${vb}:last_persisted_snap_start`, persisted];
  yield [`vb_${vb}:last_persisted_snap_end`, persisted];
});

/** `vbucket-details [vb]`. */
export const statDetails = forVbuckets(function* (vb, documents, { bucket }): Figures {
  yield [`vb_${vb}`, stateName(documents.stateOf(vb))];
  yield [`vb_${vb}:high_seqno`, documents.highSeqno(vb)];
  yield [`vb_${vb}:uuid`, uuidText(vb, documents)];
  const figures = bucket.engine?.vbucketFigures(vb);
  if (!figures) return;
  yield [`vb_${vb}:max_cas`, figures.maxCas.toString()];
  yield [`vb_${vb}:max_deleted_revid`, figures.maxDeletedRev];
  yield [`vb_${vb}:purge_seqno`, figures.purgeSeqno];
  yield [`vb_${vb}:num_items`, figures.items];
  yield [`vb_${vb}:num_tombstones`, figures.tombstones];
  yield [`vb_${vb}:num_non_resident`, figures.nonResident];
  yield [`vb_${vb}:queue_size`, figures.dirtyItems];
});

/** `checkpoint [vb]`: changes that are not persisted yet. */
export const statCheckpoints = forVbuckets(function* (vb, documents, { bucket }): Figures {
  yield [`vb_${vb}:state`, stateName(documents.stateOf(vb))];
  yield [`vb_${vb}:last_closed_checkpoint_seqno`, documents.persistedSeqno(vb)];
  const figures = bucket.engine?.vbucketFigures(vb);
  if (!figures) return;
  yield [`vb_${vb}:num_items_for_persistence`, figures.dirtyItems];
  yield [`vb_${vb}:mem_usage`, figures.dirtyBytes];
});

/** `failovers [vb]`. */
export const statFailovers = forVbuckets(function* (vb, documents): Figures {
  const log = documents.failoverLog(vb);
  yield [`vb_${vb}:num_entries`, log.length];
  yield [`vb_${vb}:num_erroneous_entries_erased`, 0];
  for (const [index, entry] of log.entries()) {
    yield [`vb_${vb}:${index}:id`, decimalUuid(entry.uuidHi, entry.uuidLo)];
    yield [`vb_${vb}:${index}:seq`, entry.seqno];
  }
});

/** `histories`: one value for the uuids of all vbuckets, to compare whether any has changed. Specific to Divan. */
export const statHistories: Group = ({ bucket }) =>
  bucket.documents ? [['histories', bucket.historyDigest]] : Status.temporaryFailure;

/** The vbucket's uuid as decimal text. */
function uuidText(vb: number, documents: Documents): string {
  const newest = documents.failoverLog(vb)[0];
  return newest ? decimalUuid(newest.uuidHi, newest.uuidLo) : '0';
}
const decimalUuid = (hi: number, lo: number): string => ((BigInt(hi) << 32n) | BigInt(lo)).toString();
