// The `key` group of STAT: metadata of one document, for operators.
import { collectionIdBytes, writeCollectionId } from '#wire/collection-id.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { CollectionEntry } from '../collections/collections.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import { clientCasHi, clientCasLo } from '../dispatch/reply.ts';
import type { CommandResult, Request } from '../dispatch/request.ts';
import type { Figures } from './stat-figures.ts';

/** `<key> <vbucket> [scope.collection]`. */
export function statKey(request: Request, argument: string): Figures | CommandResult {
  const { collections } = request.bucket;
  const [, name, vbText, path = '_default._default'] = /^(\S+) (\d{1,5})(?: (\S+))?$/.exec(argument) ?? [];
  if (!name || !vbText) return Status.invalidArguments;
  const entry = [...collections.all()].find(
    (candidate) => `${candidate.scope.name}.${candidate.name}` === path,
  );
  return keyFigures(request, entry, name, Number(vbText));
}

/** `<key> <vbucket> 0x<collection id>`. */
export function statKeyById(request: Request, argument: string): Figures | CommandResult {
  const [, name, vbText, id] = /^(\S+) (\d{1,5}) (?:0x)?([0-9a-f]{1,8})$/i.exec(argument) ?? [];
  if (!name || !vbText || !id) return Status.invalidArguments;
  const entry = request.bucket.collections.get(Number.parseInt(id, 16));
  return keyFigures(request, entry, name, Number(vbText));
}

function keyFigures(
  request: Request,
  entry: CollectionEntry | undefined,
  name: string,
  vb: number,
): Figures | CommandResult {
  const { documents } = request.bucket;
  if (!documents) return Status.temporaryFailure;
  const bits = entry ? (request.session.access?.bitsOf(entry.id) ?? 0) : 0;
  if (!entry || bits === 0) return Status.unknownCollection;
  if ((bits & Privilege.read) === 0) return refuseMissing(request, Privilege.read);
  const key = encodeKey(entry.id, name);
  const { view } = request;
  const status = documents.findMeta(vb, key, 0, key.length, view);
  if (status !== Status.success) return status;
  if (view.isDeleted) return Status.keyNotFound;
  return [
    ['key_is_dirty', String(view.seqno > documents.persistedSeqno(vb))],
    ['key_exptime', view.expiry],
    ['key_flags', view.flags],
    ['key_cas', ((BigInt(clientCasHi(view)) << 32n) | BigInt(clientCasLo(view))).toString()],
    ['key_vb_state', 'active'],
  ];
}

function encodeKey(id: number, name: string): Buffer {
  const key = Buffer.alloc(collectionIdBytes(id) + Buffer.byteLength(name));
  key.write(name, writeCollectionId(key, 0, id));
  return key;
}
