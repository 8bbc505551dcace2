// Ids of collections and scopes, and the manifest. Users see only the collections in which they have a privilege.
import { Datatype, Status } from '#wire/status.ts';
import type { CollectionEntry, ScopeEntry } from '../collections/collections.ts';
import { beginReply, replyValue } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';

const pathBytesMax = 2 * 251 + 1;
/** Valid names of scopes and collections. */
const namePattern = /^[A-Za-z0-9_%-]{1,251}$/;

/** Bytes of work of the description of one collection, and of the check whether a user sees it. */
const collectionWork = 256;
const visibleWork = 16;
/** Names are decoded and compared with a pattern. */
const nameWork = 512;

/** GET_MANIFEST. */
export function getManifest(request: Request): Outcome {
  const { collections } = request.bucket;
  if (request.session.access?.seesAll) return replyValue(request, collections.manifest, Datatype.json);
  request.workBytes += collections.count * collectionWork;
  const scopes = collections.scopes.filter((scope) => isScopeVisible(request, scope));
  const manifest = collections.manifestOf(scopes, (entry) => isVisible(request, entry));
  return replyValue(request, manifest, Datatype.json);
}

/** GET_COLLECTION_ID. */
export function getCollectionId(request: Request): CommandResult {
  request.workBytes += nameWork;
  const parts = readName(request)?.split('.');
  if (parts?.length !== 2) return request.refuse(Status.invalidArguments, 'The path is not scope.collection');
  const [scopeName, collectionName] = parts.map((part) => (part === '' ? '_default' : part));
  if (![scopeName, collectionName].every((name) => namePattern.test(name as string))) {
    return request.refuse(Status.invalidArguments, nameRule);
  }
  const scope = request.bucket.collections.scope(scopeName as string);
  if (!scope || !isScopeVisible(request, scope)) return request.refuse(Status.unknownScope, 'Unknown scope');
  const entry = scope.byName.get(collectionName as string);
  if (!entry || !isVisible(request, entry))
    return request.refuse(Status.unknownCollection, 'Unknown collection');
  return replyId(request, entry.id);
}

/** GET_SCOPE_ID. */
export function getScopeId(request: Request): CommandResult {
  const name = readName(request)?.split('.')[0];
  const scopeName = name === '' ? '_default' : name;
  if (scopeName === undefined || !namePattern.test(scopeName))
    return request.refuse(Status.invalidArguments, nameRule);
  const scope = request.bucket.collections.scope(scopeName);
  if (!scope || !isScopeVisible(request, scope)) return request.refuse(Status.unknownScope, 'Unknown scope');
  return replyId(request, scope.id);
}

const nameRule = 'Names have 1 to 251 characters out of A-Z a-z 0-9 _ - %';

/** Clients send the name in the value; older ones in the key. */
function readName(request: Request): string | null {
  const { frame } = request;
  const inKey = frame.valueStart > frame.keyStart;
  const start = inKey ? frame.keyStart : frame.valueStart;
  const end = inKey ? frame.valueStart : frame.end;
  return end - start > pathBytesMax ? null : frame.buffer.toString('utf8', start, end);
}

function replyId(request: Request, id: number): Outcome {
  const at = beginReply(request, 12, 0, 0, 0, 0, 0);
  const { buffer } = request.output;
  buffer.writeBigUInt64BE(BigInt(`0x${request.bucket.collections.uid}`), at);
  buffer.writeUInt32BE(id, at + 8);
  return Outcome.replied;
}

const isVisible = (request: Request, entry: CollectionEntry): boolean =>
  (request.session.access?.bitsOf(entry.id) ?? 0) !== 0;

/** A scope is visible to users with a privilege in it or in one of its collections. */
function isScopeVisible(request: Request, scope: ScopeEntry): boolean {
  if ((request.session.access?.ofScope(scope) ?? 0) !== 0) return true;
  request.workBytes += scope.collections.length * visibleWork;
  return scope.collections.some((entry) => isVisible(request, entry));
}
