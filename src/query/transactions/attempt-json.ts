// The JSON of client libraries for transactions: `txn` attributes of documents, and attempts in records, with their member names.

/** Extended attribute `txn` of a document that an attempt has staged. */
export interface TxnAttribute {
  /** The ids of the transaction, of the attempt, and of the operation that staged the document. */
  readonly id?: { readonly txn?: string; readonly atmpt?: string; readonly op?: string };
  /** Where the record of the attempt is. */
  readonly atr?: {
    readonly id?: string;
    readonly bkt?: string;
    readonly scp?: string;
    readonly coll?: string;
  };
  /** What was staged, and the checksum that the body had then: another writer may have changed it since. */
  readonly op?: { readonly type?: string; readonly crc32?: string };
  /** The expiration of the staged document in seconds since 1970, 0: none; absent: that of the document. */
  readonly aux?: { readonly docexpiry?: number };
}

export interface RecordedDocument {
  readonly id: string;
  readonly bkt: string;
  readonly scp: string;
  readonly col: string;
}

/** An attempt in a record. */
export interface RecordedAttempt {
  /** The id of the transaction. */
  readonly tid?: string;
  /** The state: `COMMITTED`, for example. */
  readonly st?: string;
  /** CAS of the record when the attempt started. */
  readonly tst?: string;
  /** Milliseconds after `tst` at which the attempt counts as lost. */
  readonly exp?: number;
  /** Durability of its writes. */
  readonly d?: string;
  /** The documents that it inserts, replaces and removes. */
  readonly ins?: readonly RecordedDocument[];
  readonly rep?: readonly RecordedDocument[];
  readonly rem?: readonly RecordedDocument[];
}

/** The virtual attribute `$document`, in which the data service returns the metadata of a document. */
export interface DocumentAttribute {
  readonly CAS?: string;
  readonly revid?: string;
  readonly exptime?: number;
  readonly value_crc32c?: string;
  readonly flags?: number;
}

export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** undefined for anything but a JSON object: other writers may have changed it. */
export function objectOf<T extends object>(bytes: Uint8Array | undefined): T | undefined {
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return isMembers(value) ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}

/** The named members that are strings; undefined if there is no object. */
function textsOf<const Name extends string>(
  value: unknown,
  names: readonly Name[],
): { readonly [name in Name]?: string } | undefined {
  if (!isMembers(value)) return undefined;
  const texts = names
    .map((name) => [name, value[name]] as const)
    .filter(([, text]) => typeof text === 'string');
  return Object.fromEntries(texts) as { readonly [name in Name]?: string };
}

function expirationOf(value: unknown): TxnAttribute['aux'] {
  const docexpiry = isMembers(value) ? value['docexpiry'] : undefined;
  const isTime = Number.isInteger(docexpiry) && (docexpiry as number) >= 0 && (docexpiry as number) < 2 ** 32;
  return isTime ? { docexpiry: docexpiry as number } : undefined;
}

/** Anybody who may write a document may write this attribute: members of another type count as absent. */
export function txnAttributeOf(bytes: Uint8Array | undefined): TxnAttribute | undefined {
  const sent = objectOf<Members>(bytes);
  if (sent === undefined) return undefined;
  const id = textsOf(sent['id'], ['txn', 'atmpt', 'op']);
  const atr = textsOf(sent['atr'], ['id', 'bkt', 'scp', 'coll']);
  const op = textsOf(sent['op'], ['type', 'crc32']);
  const aux = expirationOf(sent['aux']);
  return { ...(id && { id }), ...(atr && { atr }), ...(op && { op }), ...(aux && { aux }) };
}

/** The attempts of a record, which is a document that others may write, too: members that are not attempts are ignored. */
export function recordedAttempts(bytes: Uint8Array | undefined): Map<string, RecordedAttempt> {
  const attempts = Object.entries(objectOf<Members>(bytes) ?? {});
  return new Map(attempts.flatMap(([id, sent]) => (isMembers(sent) ? [[id, attemptOf(sent)]] : [])));
}

function attemptOf(sent: Members): RecordedAttempt {
  const { exp } = sent;
  return {
    ...textsOf(sent, ['tid', 'st', 'tst', 'd']),
    ...(typeof exp === 'number' && { exp }),
    ins: documentsOf(sent['ins']),
    rep: documentsOf(sent['rep']),
    rem: documentsOf(sent['rem']),
  };
}

const documentsOf = (list: unknown): RecordedDocument[] =>
  Array.isArray(list) ? list.filter(isRecordedDocument) : [];

const isRecordedDocument = (value: unknown): value is RecordedDocument =>
  isMembers(value) && ['id', 'bkt', 'scp', 'col'].every((name) => typeof value[name] === 'string');

/** Parses the value of `${Mutation.CAS}`, whose bytes are reversed, to milliseconds since 1970. */
export function msOfCas(text: string | undefined): number {
  if (text === undefined || !/^0x[0-9a-f]{1,16}$/i.test(text)) return 0;
  const bytes = Buffer.from(text.slice(2).padStart(16, '0'), 'hex').reverse();
  return Number(bytes.readBigUInt64BE() / 1_000_000n);
}

/** A macro that the data service replaces by its value. */
export const macro = (name: 'CAS' | 'value_crc32c'): Buffer => Buffer.from(`"$\{Mutation.${name}}"`);

const durabilityLetters = {
  none: 'n',
  majority: 'm',
  majorityAndPersistActive: 'pa',
  persistToMajority: 'pp',
} as const;

export type RecordedDurability = keyof typeof durabilityLetters;

export const letterOf = (durability: RecordedDurability): string => durabilityLetters[durability];

export const durabilityOf = (letter: string | undefined): RecordedDurability =>
  (Object.keys(durabilityLetters) as RecordedDurability[]).find(
    (name) => durabilityLetters[name] === letter,
  ) ?? 'majority';
