// Captures a bucket: writes the streams of all its vbuckets to one data file. The backup has every change up to the high seqnos that the
// vbuckets had at the start, or when they were found again at another node: vbuckets that move during the backup are followed.

import { DataPortError } from '#client/data-port-error.ts';
import { vbucketCount } from '#client/document-key.ts';
import { BackupError } from '../format/backup-error.ts';
import type { CountedVbucket } from '../format/manifest.ts';
import type { DataRoute } from '../node/backup-node.ts';
import { MovedVbucketError, NodeCapture, type NodeCaptureOptions } from './node-capture.ts';

/** Streams of all nodes at a time; each has up to one block in memory. */
const streamsAtOnce = 32;
/** A node has at least this number of streams, in a cluster of many nodes too. */
const streamsPerNodeMin = 4;
/** The pause before the vbuckets that moved are looked for, and how often that is done while no further one is captured: half a minute. */
const movedCheckPauseMs = 500;
const idleRoundsMax = 60;

export interface BucketCaptureOptions extends Omit<NodeCaptureOptions, 'histories'> {
  /** The nodes that serve the vbuckets now. @throws BackupError while some are served by none */
  routes(): Promise<readonly DataRoute[]>;
  /** @throws BackupError when the bucket was deleted or replaced since the start */
  checkUnchanged(): Promise<void>;
}

/** Resolves with the records of all vbuckets. The blocks are in the file, but not synced. @throws BackupError */
export async function captureBucket(options: BucketCaptureOptions): Promise<CountedVbucket[]> {
  const { clock, signal } = options;
  const completed = new Map(options.completed);
  const nodeOptions = { ...options, completed, histories: new Map<number, bigint>() };
  let routes = await options.routes();
  for (let idleRounds = 0; ; idleRounds++) {
    const before = completed.size;
    const problem = await captureRound(nodeOptions, routes);
    if (problem === null)
      return Array.from({ length: vbucketCount }, (_, vb) => completed.get(vb) as CountedVbucket);
    signal.throwIfAborted();
    if (completed.size > before) idleRounds = 0;
    const isMoved = problem instanceof MovedVbucketError;
    // A node that has no vbuckets left may leave the cluster, and ends its connections.
    const mayHaveMoved = isMoved || problem instanceof DataPortError;
    if (!mayHaveMoved || idleRounds >= idleRoundsMax) throw problem;
    await clock.sleep(movedCheckPauseMs, signal);
    await options.checkUnchanged();
    // Some vbuckets may be at no node for a moment.
    const next = await options.routes().catch(() => routes);
    if (!isMoved && !differ(next, routes)) throw problem;
    routes = next;
  }
}

type RoundOptions = NodeCaptureOptions & { readonly completed: Map<number, CountedVbucket> };

/**
 * Captures what is not complete, from the nodes of these routes. Resolves with null once all is complete, else with the reason why it is
 * not, which may be that vbuckets moved. @throws BackupError when the backup cannot be completed
 */
async function captureRound(options: RoundOptions, routes: readonly DataRoute[]): Promise<Error | null> {
  const opening = await Promise.allSettled(routes.map((route) => NodeCapture.open(route, options)));
  const nodes = opening.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  try {
    const failed = opening.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    await Promise.all(nodes.map((node) => node.readTargets()));
    const streams = Math.max(streamsPerNodeMin, Math.floor(streamsAtOnce / nodes.length));
    await Promise.all(nodes.map((node) => node.run(streams)));
    const moved = nodes.find((node) => node.moved !== null)?.moved ?? null;
    if (moved === null) await Promise.all(nodes.map((node) => node.checkHistories()));
    return moved;
  } catch (error) {
    const cause = await causeOf(error as Error, nodes);
    if (cause instanceof BackupError && !(cause instanceof MovedVbucketError)) throw cause;
    return cause;
  } finally {
    for (const node of nodes) {
      node.close();
      for (const [vb, record] of node.records) options.completed.set(vb, record);
    }
  }
}

/** A flush ends connections without a reason; the vbuckets have other histories then. */
async function causeOf(error: Error, nodes: readonly NodeCapture[]): Promise<Error> {
  if (error instanceof BackupError) return error;
  const found = await Promise.all(nodes.map((node) => node.findFlush()));
  return found.find((flushed) => flushed !== null) ?? error;
}

const differ = (one: readonly DataRoute[], other: readonly DataRoute[]): boolean =>
  placesOf(one) !== placesOf(other);

const placesOf = (routes: readonly DataRoute[]): string =>
  JSON.stringify(routes.map(({ options: { address }, vbuckets }) => [address.host, address.port, vbuckets]));
