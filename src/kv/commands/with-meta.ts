// Writes of versions from another cluster, which cross-cluster replication (XDCR) sends.
import { readU32 } from '#wire/bytes.ts';
import { snappyInflate } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { WithMetaOption } from '#wire/with-meta.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { type IncomingVersion, type MutationRequest, StoreMode } from '../data/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { valueBytesMax } from '../value/validate-value.ts';
import { prepareValue } from './values.ts';

const revLimit = 2 ** 48;
/**
 * The high word of an accepted CAS is below this. Later writes of the vbucket get higher CAS values: four billion are left below all ones,
 * which no CAS may be.
 */
const casHiLimit = 0xffffffff;

/** The decoded version; shared, overwritten by each command. */
const incoming: IncomingVersion = {
  casHi: 0,
  casLo: 0,
  rev: 0,
  isDeletion: false,
  isExpiration: false,
  mustBeNew: false,
  rule: null,
  regeneratesCas: false,
};

/** SET_WITH_META, SETQ_WITH_META. */
export const setWithMeta = (request: Request): CommandResult => write(request, false, false);
/** ADD_WITH_META, ADDQ_WITH_META. */
export const addWithMeta = (request: Request): CommandResult => write(request, false, true);
/** DEL_WITH_META, DELQ_WITH_META. */
export const deleteWithMeta = (request: Request): CommandResult => write(request, true, false);

function write(request: Request, isDeletion: boolean, mustBeNew: boolean): CommandResult {
  const mutation = beginMutation(request, isDeletion ? StoreMode.remove : StoreMode.set);
  incoming.isDeletion = isDeletion;
  incoming.mustBeNew = mustBeNew;
  const refusal = readMeta(request, mutation) || readOptions(request) || readValue(request, mutation);
  if (refusal !== Status.success) return refusal;
  const status = request.documents.storeIncoming(mutation, incoming, request.result);
  const { counters } = request;
  if (status === Status.keyExists) counters.metaRejects++;
  if (status !== Status.success) return status;
  if (isDeletion) counters.metaDeletes++;
  else counters.metaSets++;
  replyMutation(request, request.result);
  return Outcome.replied;
}

function readMeta(request: Request, mutation: MutationRequest): Status {
  const { buffer, extrasStart } = request.frame;
  mutation.flags = readU32(buffer, extrasStart);
  mutation.expiry = readU32(buffer, extrasStart + 4);
  incoming.rev = readU32(buffer, extrasStart + 8) * 2 ** 32 + readU32(buffer, extrasStart + 12);
  incoming.casHi = readU32(buffer, extrasStart + 16);
  incoming.casLo = readU32(buffer, extrasStart + 20);
  if (incoming.rev >= revLimit)
    return request.refuse(Status.invalidArguments, 'The revision must be below 2^48');
  const isNone = incoming.casHi === 0 && incoming.casLo === 0;
  return isNone || incoming.casHi >= casHiLimit ? Status.casValueInvalid : Status.success;
}

function readOptions(request: Request): Status {
  const { buffer, extrasStart, keyStart } = request.frame;
  const options = keyStart - extrasStart >= 28 ? readU32(buffer, extrasStart + 24) : 0;
  const has = (option: number): boolean => (options & option) !== 0;
  const rule = request.bucket.spec.conflictResolution;
  const skips = has(WithMetaOption.force) || has(WithMetaOption.skipsResolution);
  incoming.rule = skips ? null : rule;
  incoming.regeneratesCas = has(WithMetaOption.regeneratesCas);
  incoming.isExpiration = has(WithMetaOption.isExpiration);
  const problem = optionsProblem(rule, has(WithMetaOption.acceptsLastWrite), skips);
  return problem === '' ? Status.success : request.refuse(Status.invalidArguments, problem);
}

function optionsProblem(rule: 'seqno' | 'lww', acceptsLastWrite: boolean, skips: boolean): string {
  const { isDeletion, isExpiration, regeneratesCas } = incoming;
  if (regeneratesCas && !skips) return 'Regenerating the CAS requires skipping conflict resolution';
  if (isExpiration && !isDeletion) return 'Only a deletion can be an expiration';
  if (rule === 'seqno' && acceptsLastWrite)
    return 'The bucket does not use last-write-wins conflict resolution';
  if (rule === 'lww' && !acceptsLastWrite && !regeneratesCas)
    return 'The bucket uses last-write-wins conflict resolution, which the request must accept';
  return '';
}

/** Reads the value, without the trailing metadata of older senders. */
function readValue(request: Request, mutation: MutationRequest): CommandResult {
  const { buffer, extrasStart, keyStart, valueStart, end } = request.frame;
  // The extras have 24 or 28 bytes, and two more with the length of that metadata.
  const hasTrailer = ((keyStart - extrasStart) & 3) === 2;
  const trailer = hasTrailer ? buffer.readUInt16BE(keyStart - 2) : 0;
  if (trailer > end - valueStart)
    return request.refuse(Status.invalidArguments, 'The value is shorter than its metadata');
  const status = prepareValue(request, end - trailer);
  if (status !== Status.success || !incoming.isDeletion) return status;
  return readAttributesOnly(request, mutation);
}

/** The value of a deletion may contain only attributes. */
function readAttributesOnly(request: Request, mutation: MutationRequest): Status {
  if (mutation.valueStart === mutation.valueEnd) return Status.success;
  if ((mutation.datatype & Datatype.snappy) !== 0) unpack(mutation);
  const { value, valueStart, valueEnd, datatype } = mutation;
  const hasAttributes = (datatype & Datatype.xattr) !== 0;
  if (!hasAttributes || bodyStart(value, valueStart, valueEnd) !== valueEnd)
    return request.refuse(Status.invalidArguments, 'Only attributes can come with a deletion');
  mutation.datatype = Datatype.xattr;
  return Status.success;
}

/** Inflates the value. It was inflated once when it was validated, so it cannot fail. */
function unpack(mutation: MutationRequest): void {
  const plain = snappyInflate(mutation.value, mutation.valueStart, mutation.valueEnd, valueBytesMax);
  mutation.value = plain ?? Buffer.alloc(0);
  mutation.valueStart = 0;
  mutation.valueEnd = mutation.value.length;
}
