// The `key` group of STAT: metadata of one document, for people who look after a bucket.
import { collectionIdBytes, writeCollectionId } from '#wire/collection-id.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { CollectionEntry } from '../dispatch/collections.ts';
import type { Request } from '../dispatch/request.ts';
import type { Figures } from './stat.ts';

/** `<key> <vbucket> [scope.collection]`. */
export function statKey(request: Request, argument: string): Figures | Status {
  const { documents, collections } = request.bucket;
  const [, name, vbText, path] = /^(\S+) (\d{1,5})(?: (\S+))?$/.exec(argument) ?? [];
  if (!name || !vbText) return Status.invalidArguments;
  if (!documents) return Status.temporaryFailure;
  const entry = find(collections.all(), path ?? '_default._default');
  const bits = entry ? (request.session.access?.of(entry.id) ?? 0) : 0;
  if (!entry || bits === 0) return Status.unknownCollection;
  if ((bits & Privilege.read) === 0) return Status.noAccess;
  const key = encodeKey(entry.id, name);
  const vb = Number(vbText);
  const { view } = request;
  const status = documents.find(vb, key, 0, key.length, view);
  if (status !== Status.success) return status;
  return [
    ['key_is_dirty', String(view.seqno > documents.persistedSeqno(vb))],
    ['key_exptime', view.expiry],
    ['key_flags', view.flags],
    ['key_cas', ((BigInt(view.casHi) << 32n) | BigInt(view.casLo)).toString()],
    ['key_vb_state', 'active'],
  ];
}

function find(entries: Iterable<CollectionEntry>, path: string): CollectionEntry | undefined {
  return [...entries].find((entry) => `${entry.scope.name}.${entry.name}` === path);
}

function encodeKey(id: number, name: string): Buffer {
  const key = Buffer.alloc(collectionIdBytes(id) + Buffer.byteLength(name));
  key.write(name, writeCollectionId(key, 0, id));
  return key;
}
