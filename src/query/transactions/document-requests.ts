// Requests that stage, commit and roll back a document, in the form that client libraries write and expect.
import { jsonFlags, type StoreRequest } from '#client/bucket-client.ts';
import type { PathWrite } from '#client/subdoc.ts';
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { type DocumentAttribute, macro } from './attempt-json.ts';
import type { StagedChange } from './staged-change.ts';

export interface AttemptName {
  readonly id: string;
  readonly transactionId: string;
  readonly record: { readonly keyspace: KeyspaceName; readonly id: string };
}

/** The stored document before the staging. */
export interface Base {
  readonly cas: bigint;
  readonly isDeleted: boolean;
  readonly attribute: DocumentAttribute;
}

const { xattr, mkdirP, expandMacros } = PathFlag;
const nothing = Buffer.alloc(0);
const crcMacro = macro('value_crc32c');

/** Removes the attribute that links the document to its attempt. */
const removeTxnAttribute: PathWrite = { opcode: SubdocOpcode.delete, flags: xattr, path: 'txn' };

export function stageRequest(
  change: StagedChange,
  base: Base | undefined,
  attempt: AttemptName,
  operation: string,
): StoreRequest {
  const txn = txnText(change, base, attempt, operation);
  return {
    kind: 'replace',
    key: change.id,
    value: nothing,
    cas: base?.cas ?? 0n,
    expiry: change.kind === 'insert' ? 0 : 'keep',
    parts: {
      docFlags: docFlagsOf(base),
      writes: [
        { opcode: SubdocOpcode.dictUpsert, flags: xattr | mkdirP, path: 'txn', value: txn },
        {
          opcode: SubdocOpcode.dictUpsert,
          flags: xattr | mkdirP | expandMacros,
          path: 'txn.op.crc32',
          value: crcMacro,
        },
      ],
    },
  };
}

/** A staged insert is stored as a deleted document until the commit. */
function docFlagsOf(base: Base | undefined): number {
  if (base === undefined) return DocFlag.add | DocFlag.accessDeleted | DocFlag.createAsDeleted;
  return base.isDeleted ? DocFlag.accessDeleted | DocFlag.createAsDeleted : 0;
}

function txnText(
  { kind, bytes, expiration }: StagedChange,
  base: Base | undefined,
  { id, transactionId, record }: AttemptName,
  operation: string,
): Buffer {
  const { bucket, scope, collection } = record.keyspace;
  const { CAS, revid, exptime } = base?.attribute ?? {};
  const members = {
    id: { txn: transactionId, atmpt: id, op: operation },
    atr: { id: record.id, bkt: bucket, scp: scope, coll: collection },
    ...(kind !== 'insert' && { restore: { CAS, revid, exptime } }),
    ...(kind !== 'remove' && {
      aux: { uf: jsonFlags, ...(expiration !== 'keep' && { docexpiry: expiration }) },
    }),
  };
  const head = JSON.stringify(members).slice(0, -1);
  if (kind === 'remove') return Buffer.from(`${head},"op":{"type":"remove"}}`);
  return Buffer.concat([Buffer.from(`${head},"op":{"type":"${kind}","stgd":`), bytes, Buffer.from('}}')]);
}

/** Replaces the document by the staged change. */
export function commitRequest(
  { kind, id, bytes, expiration }: Pick<StagedChange, 'kind' | 'id' | 'bytes' | 'expiration'>,
  cas: bigint,
): StoreRequest {
  switch (kind) {
    case 'insert':
      return { kind: 'add', key: id, value: bytes, cas: 0n, expiry: expiration === 'keep' ? 0 : expiration };
    case 'replace':
      return {
        kind: 'replace',
        key: id,
        value: nothing,
        cas,
        expiry: expiration,
        parts: {
          docFlags: 0,
          writes: [removeTxnAttribute, { opcode: SubdocOpcode.setDoc, flags: 0, path: '', value: bytes }],
        },
      };
    case 'remove':
      return { kind: 'remove', key: id, value: nothing, cas, expiry: 0 };
  }
}

/** Restores the document from before the staging. */
export const rollbackRequest = (id: string, cas: bigint, isDeleted: boolean): StoreRequest => ({
  kind: 'replace',
  key: id,
  value: nothing,
  cas,
  expiry: isDeleted ? 0 : 'keep',
  parts: { docFlags: isDeleted ? DocFlag.accessDeleted : 0, writes: [removeTxnAttribute] },
});
