// Parses the JSON description of a range scan.
import { uint64OfText } from '#base/uint64-text.ts';

export interface ScanPlan {
  collection: number;
  keyOnly: boolean;
  withXattrs: boolean;
  range: KeyRange | null;
  sampling: { seed: number; samples: number } | null;
  snapshot: { vbUuid: bigint; seqno: number; mustExist: boolean } | null;
}

/** Both bounds are keys without a collection id. */
export interface KeyRange {
  start: Buffer;
  startsAfter: boolean;
  end: Buffer;
  endsBefore: boolean;
}

const boundBytesMax = 256;

type Fields = Record<string, unknown>;

class PlanError extends Error {}

/** Returns the reason if the text does not describe a scan. */
export function readScanPlan(text: string): ScanPlan | string {
  try {
    return planOf(fieldsOf(JSON.parse(text)));
  } catch (error) {
    return error instanceof PlanError ? error.message : 'The value is not valid JSON';
  }
}

function planOf(fields: Fields): ScanPlan {
  const range = fields['range'] === undefined ? null : rangeOf(fieldsOf(fields['range']));
  const sampling = fields['sampling'] === undefined ? null : samplingOf(fieldsOf(fields['sampling']));
  if ((range === null) === (sampling === null)) throw new PlanError('Give either range or sampling');
  const snapshot = fields['snapshot_requirements'];
  return {
    collection: collectionOf(fields['collection']),
    keyOnly: flagOf(fields['key_only'], 'key_only'),
    withXattrs: flagOf(fields['include_xattrs'], 'include_xattrs'),
    range,
    sampling,
    snapshot: snapshot === undefined ? null : snapshotOf(fieldsOf(snapshot)),
  };
}

function rangeOf(fields: Fields): KeyRange {
  const [start, startsAfter] = boundOf(fields, 'start', 'excl_start');
  const [end, endsBefore] = boundOf(fields, 'end', 'excl_end');
  return { start, startsAfter, end, endsBefore };
}

function boundOf(fields: Fields, inclusive: string, exclusive: string): [Buffer, boolean] {
  const isExclusive = fields[inclusive] === undefined;
  const text = isExclusive ? fields[exclusive] : fields[inclusive];
  const hasBoth = !isExclusive && fields[exclusive] !== undefined;
  if (typeof text !== 'string' || hasBoth || !/^[A-Za-z0-9+/]*={0,2}$/.test(text))
    throw new PlanError(`Give one of ${inclusive} and ${exclusive} in base64`);
  const bound = Buffer.from(text, 'base64');
  if (bound.length > boundBytesMax)
    throw new PlanError(`${inclusive} must have at most ${boundBytesMax} bytes`);
  return [bound, isExclusive];
}

function samplingOf(fields: Fields): { seed: number; samples: number } {
  const samples = numberOf(fields['samples'], 'samples');
  if (samples === 0) throw new PlanError('samples must not be 0');
  return { seed: numberOf(fields['seed'] ?? 0, 'seed'), samples };
}

function snapshotOf(fields: Fields): { vbUuid: bigint; seqno: number; mustExist: boolean } {
  const text = fields['vb_uuid'];
  const vbUuid = typeof text === 'string' ? uint64OfText(text) : null;
  if (vbUuid === null) throw new PlanError('vb_uuid must be a number of 64 bits in decimal text');
  if (fields['timeout_ms'] !== undefined) numberOf(fields['timeout_ms'], 'timeout_ms');
  const seqno = numberOf(fields['seqno'], 'seqno');
  return { vbUuid, seqno, mustExist: flagOf(fields['seqno_exists'], 'seqno_exists') };
}

function collectionOf(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== 'string' || !/^(0x)?[0-9a-f]{1,8}$/i.test(value))
    throw new PlanError('collection must be hexadecimal');
  return Number.parseInt(value, 16);
}

function flagOf(value: unknown, name: string): boolean {
  if (value !== undefined && typeof value !== 'boolean') throw new PlanError(`${name} must be true or false`);
  return value === true;
}

/** JSON numbers of 64 bits are rounded to doubles; as a seed that is fine, because the same text gives the same seed. */
function numberOf(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new PlanError(`${name} must be a whole number`);
}

function fieldsOf(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new PlanError('The value must be a JSON object');
}

export function isInRange(range: KeyRange, buffer: Buffer, start: number, end: number): boolean {
  const toStart = buffer.compare(range.start, 0, range.start.length, start, end);
  if (toStart < 0 || (toStart === 0 && range.startsAfter)) return false;
  const toEnd = buffer.compare(range.end, 0, range.end.length, start, end);
  return toEnd < 0 || (toEnd === 0 && !range.endsBefore);
}
