// STAT: the statistics of a group, one packet each.
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { beginReply } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import type { HeldReply } from '../served/held-reply.ts';
import {
  statConfig,
  statDisk,
  statMemory,
  statTasks,
  statTimings,
  statTotals,
  statWarmUp,
} from './stat-bucket.ts';
import {
  statCollectionDetails,
  statCollections,
  statCollectionsById,
  statManifest,
  statScopes,
  statScopesById,
} from './stat-collections.ts';
import type { Figure, Group } from './stat-figures.ts';
import { statKey, statKeyById } from './stat-key.ts';
import { statClocks, statConnections, statInfo, statSettings } from './stat-node.ts';
import { statRangeScans, statStreams, statStreamTotals, statTakeover } from './stat-streams.ts';
import {
  statCheckpoints,
  statDetails,
  statFailovers,
  statHistories,
  statSeqnos,
  statStates,
} from './stat-vbuckets.ts';

/** STAT. */
export function stat(request: Request): CommandResult {
  const { frame } = request;
  const text = frame.buffer.toString('utf8', frame.keyStart, frame.valueStart);
  const space = text.indexOf(' ');
  const name = space < 0 ? text : text.slice(0, space);
  const group = request.session.bucket
    ? (bucketGroups.get(name) ?? nodeGroups.get(name))
    : nodeGroups.get(name);
  if (!group && !request.session.bucket) return request.refuse(Status.noBucket, 'No bucket selected');
  if (!group) return Status.keyNotFound;
  const missing = missingPrivilege(request, name);
  if (missing !== '') return request.refuse(Status.noAccess, `Requires privilege: ${missing}`);
  // A copy: statistics may be written later, when the shared request object describes another request.
  const copy: Request = Object.assign(Object.create(Object.getPrototypeOf(request)), request);
  copy.frame = { ...request.frame };
  request.workBytes += (request.session.bucket?.collections.count ?? 0) * collectionWork;
  const figures = group(copy, space < 0 ? '' : text.slice(space + 1));
  if (typeof figures === 'number') {
    request.context = copy.context;
    return figures;
  }
  const rest = figures[Symbol.iterator]();
  if (writeBatch(copy, rest)) {
    replyFigure(copy, ...end);
    return Outcome.replied;
  }
  // Replies to later requests follow the whole group.
  writeRest(copy, rest, request.connection.holdReply(request, 'ordered', lastOf(copy)));
  return Outcome.later;
}

/** The work (bytes, see `turn-clock.ts`) of one collection in the sums that a group computes before its first packet. */
const collectionWork = 64;
/** Statistics written per batch. */
const figuresMax = 64;
/** Above this many unsent bytes the next batch waits. */
const unsentBytesMax = 1024 * 1024;
const pauseMs = 10;

/** Writes the next batch; returns whether it was the last. */
function writeBatch(request: Request, rest: Iterator<Figure>): boolean {
  for (let written = 0; written < figuresMax; written++) {
    const { done, value } = rest.next();
    if (done) return true;
    replyFigure(request, ...(value as Figure));
  }
  return false;
}

const end: Figure = ['', ''];

/** Writes the other batches in later turns of the event loop, as fast as the client accepts them. The held reply ends the group. */
function writeRest(request: Request, rest: Iterator<Figure>, last: HeldReply): void {
  const { connection, environment } = request;
  const { clock } = environment;
  const go = (): void => {
    if (connection.isGone) return;
    if (connection.unsentBytes > unsentBytesMax) return void clock.after(pauseMs, go);
    let isClosing = true;
    let isOver = false;
    // A connection that is closing writes nothing more.
    connection.send(() => {
      isClosing = false;
      isOver = writeBatch(request, rest);
    });
    if (isClosing) return;
    if (isOver) last.resolve(Status.success);
    else clock.soon(go);
  };
  clock.soon(go);
}

/** The empty packet that ends a group, as a separate buffer. */
function lastOf(request: Request): Buffer {
  const { output } = request;
  const from = output.end;
  replyFigure(request, ...end);
  const bytes = Buffer.from(output.buffer.subarray(from, output.end));
  output.end = from;
  return bytes;
}

const onKeys = new Set(['key', 'vkey', 'key-byid', 'vkey-byid']);
/** Groups that show only collections in which the user has the privilege. All others require it in the whole bucket. */
const byCollection = new Set([
  'collections',
  'collections-byid',
  'collections-details',
  'scopes',
  'scopes-byid',
  'manifest',
]);

/** The privilege that the user lacks for the statistics of this name; empty if none. */
function missingPrivilege({ session }: Request, name: string): string {
  const nodeBits = session.user?.spec.grants.node ?? 0;
  const { anywhere = 0, bucketWide = 0 } = session.access ?? {};
  if (nodeGroups.has(name)) return (nodeBits & Privilege.administrator) === 0 ? 'Stats' : '';
  if (onKeys.has(name)) return (anywhere & Privilege.read) === 0 ? 'Read' : '';
  const privileges = byCollection.has(name) ? anywhere : bucketWide;
  return (privileges & Privilege.simpleStats) === 0 ? 'SimpleStats' : '';
}

function replyFigure(request: Request, name: string, figure: string | number): void {
  const value = String(figure);
  const keyBytes = Buffer.byteLength(name);
  const at = beginReply(request, 0, keyBytes, Buffer.byteLength(value), 0, 0, 0);
  request.output.buffer.write(name, at);
  request.output.buffer.write(value, at + keyBytes);
}

/** Groups that require no bucket; for administrators. */
const nodeGroups = new Map<string, Group>(
  Object.entries({ connections: statConnections, clocks: statClocks, settings: statSettings }),
);

const bucketGroups = new Map<string, Group>(
  Object.entries({
    '': statTotals,
    info: statInfo,
    uuid: ({ bucket }: Request) => [['uuid', bucket.uuid]] as const,
    config: statConfig,
    memory: statMemory,
    diskinfo: statDisk,
    warmup: statWarmUp,
    tasks: statTasks,
    timings: statTimings,
    vbucket: statStates,
    // The previous state is not stored: the group reports the current one.
    'prev-vbucket': statStates,
    'vbucket-seqno': statSeqnos,
    'vbucket-details': statDetails,
    failovers: statFailovers,
    histories: statHistories,
    checkpoint: statCheckpoints,
    dcp: statStreams,
    dcpagg: statStreamTotals,
    'dcp-vbtakeover': statTakeover,
    'range-scans': statRangeScans,
    collections: statCollections,
    'collections-byid': statCollectionsById,
    'collections-details': statCollectionDetails,
    scopes: statScopes,
    'scopes-byid': statScopesById,
    manifest: statManifest,
    key: statKey,
    vkey: statKey,
    'key-byid': statKeyById,
    'vkey-byid': statKeyById,
  }),
);
