// STAT: figures by group, a packet each.
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { Documents } from '../bucket/documents.ts';
import { highShare, lowShare } from '../bucket/memory-keeper.ts';
import { beginReply } from '../dispatch/reply.ts';
import { Outcome, type Request } from '../dispatch/request.ts';
import { statCollections, statCollectionsById, statScopes, statScopesById } from './stat-collections.ts';
import { statKey } from './stat-key.ts';

/** Names and values of one group. */
export type Figures = Iterable<readonly [name: string, value: string | number]>;
type Group = (request: Request, argument: string) => Figures | Status;

export function stat(request: Request): Status | Outcome {
  const { frame, privileges } = request;
  const text = frame.buffer.toString('utf8', frame.keyStart, frame.valueStart);
  const space = text.indexOf(' ');
  const name = space < 0 ? text : text.slice(0, space);
  const group = groups.get(name);
  if (!group) return Status.keyNotFound;
  const needed = name === 'key' || name === 'vkey' ? Privilege.read : Privilege.simpleStats;
  if ((privileges & needed) === 0) return request.refuse(Status.noAccess, 'Requires privilege: SimpleStats');
  const figures = group(request, space < 0 ? '' : text.slice(space + 1));
  if (typeof figures === 'number') return figures;
  for (const [figure, value] of figures) replyFigure(request, figure, String(value));
  replyFigure(request, '', '');
  return Outcome.replied;
}

function replyFigure(request: Request, name: string, value: string): void {
  const keyBytes = Buffer.byteLength(name);
  const at = beginReply(request, 0, keyBytes, Buffer.byteLength(value), 0, 0, 0);
  request.output.buffer.write(name, at);
  request.output.buffer.write(value, at + keyBytes);
}

const groups = new Map<string, Group>(
  Object.entries({
    '': totals,
    vbucket: forVbuckets((vb) => [[`vb_${vb}`, 'active']]),
    // A vbucket has had no other state on a single node.
    'prev-vbucket': forVbuckets((vb) => [[`vb_${vb}`, 'active']]),
    'vbucket-seqno': forVbuckets(seqnoFigures),
    'vbucket-details': forVbuckets(detailFigures),
    failovers: forVbuckets(failoverFigures),
    collections: statCollections,
    'collections-byid': statCollectionsById,
    scopes: statScopes,
    'scopes-byid': statScopesById,
    manifest: (request) => manifestFigures(request),
    uuid: ({ bucket }) => [['uuid', bucket.uuid]],
    key: statKey,
    vkey: statKey,
  }),
);

function* totals(request: Request): Figures {
  const { bucket, environment } = request;
  const report = bucket.report();
  yield ['uptime', Math.floor((environment.clock.monotonicMs() - environment.startedMs) / 1000)];
  yield ['time', Math.floor(environment.clock.wallMs() / 1000)];
  yield ['version', environment.version];
  yield ['curr_items', report.items];
  yield ['curr_items_tot', report.items];
  yield ['vb_active_num', activeVbuckets(bucket.documents).length];
  yield ['vb_active_curr_items', report.items];
  yield ['mem_used', report.memUsed];
  yield ['ep_kv_size', report.memUsed];
  yield ['ep_max_size', bucket.spec.quotaBytes];
  yield ['ep_mem_high_wat', Math.floor(bucket.spec.quotaBytes * highShare)];
  yield ['ep_mem_low_wat', Math.floor(bucket.spec.quotaBytes * lowShare)];
  yield ['ep_num_non_resident', report.nonResident];
  yield ['vb_active_num_non_resident', report.nonResident];
  yield ['vb_active_perc_mem_resident', residentPercent(report)];
  yield ['ep_num_value_ejects', report.evictions];
  yield ['ep_bg_fetched', report.diskFetches];
  yield ['ep_bucket_type', bucket.spec.type === 'native' ? 'persistent' : 'ephemeral'];
  yield ['ep_queue_size', report.dirtyItems];
  yield ['ep_degraded_mode', bucket.documents ? 0 : 1];
  yield ['cmd_get', report.gets];
  yield ['cmd_set', report.sets];
  yield ['get_hits', report.getHits];
  yield ['get_misses', report.gets - report.getHits];
  yield ['delete_hits', report.deletes];
  yield ['ep_num_ops_get_meta', report.metaGets];
  yield ['ep_num_ops_set_meta', report.metaSets];
  yield ['ep_num_ops_del_meta', report.metaDeletes];
  yield ['ep_num_ops_set_meta_res_fail', report.metaRejects];
}

function residentPercent({ items, nonResident }: { items: number; nonResident: number }): number {
  return items === 0 ? 100 : Math.floor((100 * (items - Math.min(nonResident, items))) / items);
}

function activeVbuckets(documents: Documents | null): number[] {
  const all = Array.from({ length: documents?.vbucketCount ?? 0 }, (_, vb) => vb);
  return all.filter((vb) => documents?.isActive(vb));
}

/** A group that is told for one vbucket when its number is given, else for all. */
function forVbuckets(figuresOf: (vb: number, documents: Documents) => Figures): Group {
  return (request, argument) => {
    const { documents } = request.bucket;
    if (!documents) return Status.temporaryFailure;
    if (argument === '') return eachVbucket(documents, activeVbuckets(documents), figuresOf);
    if (!/^\d{1,5}$/.test(argument)) return Status.invalidArguments;
    const vb = Number(argument);
    return documents.isActive(vb) ? figuresOf(vb, documents) : Status.notMyVbucket;
  };
}

function* eachVbucket(
  documents: Documents,
  vbuckets: number[],
  figuresOf: (vb: number, documents: Documents) => Figures,
): Figures {
  for (const vb of vbuckets) yield* figuresOf(vb, documents);
}

/** A uuid as the decimal text that statistics use. */
function uuidText(vb: number, documents: Documents): string {
  const newest = documents.failoverLog(vb)[0];
  return newest ? decimalUuid(newest.uuidHi, newest.uuidLo) : '0';
}
const decimalUuid = (hi: number, lo: number): string => ((BigInt(hi) << 32n) | BigInt(lo)).toString();

function* seqnoFigures(vb: number, documents: Documents): Figures {
  const high = documents.highSeqno(vb);
  const persisted = documents.persistedSeqno(vb);
  yield [`vb_${vb}:high_seqno`, high];
  yield [`vb_${vb}:abs_high_seqno`, high];
  yield [`vb_${vb}:last_persisted_seqno`, persisted];
  yield [`vb_${vb}:purge_seqno`, 0];
  yield [`vb_${vb}:uuid`, uuidText(vb, documents)];
  yield [`vb_${vb}:last_persisted_snap_start`, persisted];
  yield [`vb_${vb}:last_persisted_snap_end`, persisted];
}

const peeked = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };

function* detailFigures(vb: number, documents: Documents): Figures {
  documents.peekNext(vb, peeked);
  yield [`vb_${vb}`, 'active'];
  yield [`vb_${vb}:high_seqno`, documents.highSeqno(vb)];
  yield [`vb_${vb}:max_cas`, decimalUuid(peeked.casHi, peeked.casLo)];
  yield [`vb_${vb}:uuid`, uuidText(vb, documents)];
}

function* failoverFigures(vb: number, documents: Documents): Figures {
  const log = documents.failoverLog(vb);
  yield [`vb_${vb}:num_entries`, log.length];
  yield [`vb_${vb}:num_erroneous_entries_erased`, 0];
  for (const [index, entry] of log.entries()) {
    yield [`vb_${vb}:${index}:id`, decimalUuid(entry.uuidHi, entry.uuidLo)];
    yield [`vb_${vb}:${index}:seq`, entry.seqno];
  }
}

function manifestFigures(request: Request): Figures {
  const { uid } = request.bucket.collections;
  return [['manifest:uid', `0x${uid}`]];
}
