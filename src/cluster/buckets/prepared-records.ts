// The JSON texts of the records of buckets. The part that changes only with the configuration is encoded once, and again when one of its
// inputs is another object or value; each answer adds the figures.
import type { StoredBucket } from '../config/cluster-state.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import {
  bucketNodeFigures,
  bucketNodeIdentity,
  bucketNodeStatus,
  type NodeSnapshot,
  replicationOf,
  type StableNodeSnapshot,
  type storageTotals,
} from '../nodes/node-record.ts';
import { mappedText, type RecordWithMap } from '../topology/vbucket-map.ts';
import { basicStats, type RecordInput, recordTemplate, streamedTemplate } from './bucket-record.ts';
import { sumOf } from './bucket-sums.ts';

/** `unmapped`: without the map, as a client may ask. */
type Kind = 'streamed' | 'full' | 'unmapped';

interface Prepared {
  /** The input of the record. */
  readonly input: RecordInput;
  /** The text before the first, between, and after the last of the fields that each answer adds (`gaps`). */
  readonly parts: readonly string[];
  /** The beginning of each node, up to its status. */
  readonly nodes: readonly string[];
  /** The share of the configured copies that are in sync, 0 to 1. */
  readonly replication: number;
  /** The newest text of a stream: streams of all clients share it. */
  streamed: { readonly nodes: string; readonly text: string } | null;
}

/** For how many addresses the records of a bucket are kept: clients that reach this node at different addresses get different records. */
const addressesMax = 16;
/** The fields whose prepared value is null, which each answer replaces. No string in the record contains `"nodes":null`, as quotes in strings are escaped. */
const gaps: Readonly<Record<Kind, readonly string[]>> = {
  streamed: ['nodes'],
  full: ['nodes', 'basicStats', 'fragmentationPercentage'],
  unmapped: ['nodes', 'basicStats', 'fragmentationPercentage'],
};

export class PreparedRecords {
  readonly #byBucket = new WeakMap<StoredBucket, Map<string, Prepared>>();

  /** `totals`: figures of the whole cluster, if the client asked for them. */
  textOf(
    input: RecordInput<NodeSnapshot>,
    totals: ReturnType<typeof storageTotals> | null,
    skipMap: boolean,
  ): string {
    const { bucket, snapshots } = input;
    const { parts, nodes, replication } = this.#prepared(input, skipMap ? 'unmapped' : 'full');
    const shown = snapshots.map((snapshot, index) =>
      joined(nodes[index] as string, bucketNodeFigures(snapshot, bucket, replication)),
    );
    const measured = measuredOf(input);
    const figures = JSON.stringify(basicStats(input, measured, totals));
    const [start, untilStats, untilFragmentation, end] = parts;
    return `${start}[${shown.join(',')}]${untilStats}${figures}${untilFragmentation}${measured?.fragmentationPercent ?? 0}${end}`;
  }

  /** The same text until the configuration or the status of a node changes. */
  streamedText(input: RecordInput): string {
    const prepared = this.#prepared(input, 'streamed');
    const shown = input.snapshots.map((snapshot, index) =>
      joined(prepared.nodes[index] as string, bucketNodeStatus(snapshot, input.bucket, prepared.replication)),
    );
    const nodes = shown.join(',');
    if (prepared.streamed?.nodes !== nodes)
      prepared.streamed = { nodes, text: `${prepared.parts[0]}[${nodes}]${prepared.parts[1]}` };
    return prepared.streamed.text;
  }

  #prepared(input: RecordInput, kind: Kind): Prepared {
    const { bucket, snapshots } = input;
    const known = this.#byBucket.get(bucket) ?? new Map<string, Prepared>();
    this.#byBucket.set(bucket, known);
    const key = `${kind} ${snapshots[0]?.localAddress}`;
    const found = known.get(key);
    if (found !== undefined && isMadeFrom(found.input, input)) return found;
    const prepared = prepare(input, kind);
    if (known.size >= addressesMax * Object.keys(gaps).length) known.clear();
    known.set(key, prepared);
    return prepared;
  }
}

/**
 * Whether everything that the configuration's part of a record depends on is the same, except the bucket and the address: prepared records
 * are found by these.
 */
const isMadeFrom = (before: RecordInput, now: RecordInput): boolean =>
  before.manifestUid === now.manifestUid &&
  before.map === now.map &&
  before.enterprise === now.enterprise &&
  before.snapshots.length === now.snapshots.length &&
  before.snapshots.every((snapshot, index) => isSameNode(snapshot, now.snapshots[index]));

const isSameNode = (a: StableNodeSnapshot, b: StableNodeSnapshot | undefined): boolean =>
  a.node === b?.node &&
  a.isThis === b.isThis &&
  a.version === b.version &&
  a.os === b.os &&
  a.serverGroup === b.serverGroup;

function prepare(input: RecordInput, kind: Kind): Prepared {
  const template: RecordWithMap =
    kind === 'streamed' ? streamedTemplate(input) : recordTemplate(input, kind === 'full');
  const parts: string[] = [];
  let rest = mappedText(template);
  for (const name of gaps[kind]) {
    const at = rest.indexOf(`"${name}":null`) + `"${name}":`.length;
    parts.push(rest.slice(0, at));
    rest = rest.slice(at + 'null'.length);
  }
  return {
    input,
    parts: [...parts, rest],
    nodes: input.snapshots.map((snapshot) => {
      const encoded = JSON.stringify(bucketNodeIdentity(snapshot, input.bucket));
      return `${encoded.slice(0, -1)},`;
    }),
    replication: replicationOf(input.bucket, input.map),
    streamed: null,
  };
}

/** The encoded object that begins like this and has further fields. */
const joined = (beginning: string, further: Record<string, unknown>): string =>
  beginning + JSON.stringify(further).slice(1);

const measuredOf = ({
  bucket,
  snapshots,
}: Pick<RecordInput, 'bucket' | 'snapshots'>): MeasuredBucket | null =>
  sumOf(snapshots.map(({ measured }) => measured.get(bucket.uuid) ?? null));
