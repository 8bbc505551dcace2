// What the nodes of a cluster have of a bucket, read over change streams, and the comparison of all copies.
import assert from 'node:assert/strict';
import { Feature } from '#wire/features.ts';
import { dataClient } from './data-client.ts';
import { DcpClient } from './dcp-client.ts';
import type { NodeProcess } from './node-process.ts';
import { Opcode } from './opcodes.ts';

export interface HeldVbucket {
  readonly state: 'active' | 'replica';
  readonly seqno: number;
  /** By key: everything that copies of a document have in common; tombstones included. */
  readonly documents: ReadonlyMap<string, string>;
}

/** The features that change streams with all metadata need. */
const features = [
  Feature.mutationSeqno,
  Feature.xattr,
  Feature.xerror,
  Feature.json,
  Feature.altRequest,
  Feature.syncReplication,
  Feature.collections,
];
/** DCP_OPEN: this node sends the streams. */
const producerFlag = 0x01;
/** The codes of vbucket states. */
const states = { active: 1, replica: 2 } as const;

/** The vbuckets that a node has, by number. */
export async function heldBy(node: NodeProcess, bucket: string): Promise<Map<number, HeldVbucket>> {
  const client = await new DcpClient(await dataClient(node, bucket, features)).open('compare', producerFlag);
  const vbuckets = new Map<number, HeldVbucket>();
  for (const state of ['active', 'replica'] as const) {
    const seqnos = await seqnosOf(client, states[state]);
    // Only vbuckets with changes have a stream to wait for.
    const changed = [...seqnos].filter(([, seqno]) => seqno > 0);
    await client.streamMany(changed.map(([vb]) => vb));
    await client.reach(changed);
    for (const [vb, seqno] of seqnos) vbuckets.set(vb, { state, seqno, documents: documentsOf(client, vb) });
  }
  client.connection.close();
  return vbuckets;
}

/** Fails unless every vbucket has one active and `replicas` copies with the same documents; returns the documents by key. */
export async function assertEqualCopies(
  nodes: readonly NodeProcess[],
  bucket: string,
  replicas: number,
): Promise<Map<string, string>> {
  const vbucketsOfNodes = await Promise.all(nodes.map((node) => heldBy(node, bucket)));
  const all = new Map<string, string>();
  for (let vb = 0; vb < 1024; vb++) {
    const copies = vbucketsOfNodes.flatMap((vbuckets) => vbuckets.get(vb) ?? []);
    const actives = copies.filter(({ state }) => state === 'active');
    assert.deepEqual([vb, actives.length, copies.length], [vb, 1, replicas + 1]);
    const [active] = actives;
    for (const copy of copies) {
      assert.deepEqual([vb, copy.seqno], [vb, active?.seqno]);
      assert.deepEqual(copy.documents, active?.documents, `vbucket ${vb}`);
    }
    for (const [key, document] of active?.documents ?? []) all.set(key, document);
  }
  return all;
}

/** A row of GET_ALL_VB_SEQNOS: the number of a vbucket and its seqno. */
const rowBytes = 2 + 8;

async function seqnosOf(client: DcpClient, state: number): Promise<Map<number, number>> {
  const extras = Buffer.alloc(4);
  extras.writeUInt32BE(state);
  const { value } = await client.ask({ opcode: Opcode.getAllVbSeqnos, extras });
  const found = new Map<number, number>();
  for (let at = 0; at < value.length; at += rowBytes)
    found.set(value.readUInt16BE(at), Number(value.readBigUInt64BE(at + 2)));
  return found;
}

const documentsOf = (client: DcpClient, vb: number): Map<string, string> =>
  new Map(
    [...client.copyOf(vb).documents].map(([key, { cas, datatype, kind, rev, seqno, value }]) => [
      key,
      JSON.stringify([kind, seqno, String(cas), rev, datatype, value.toString('latin1')]),
    ]),
  );
