// What one command of the binary protocol looks like, declared once: the validator, the table of opcodes, the check of
// session and privilege are derived from it.
import { type Frame, frameBytesMax } from './frame.ts';

/** What must have happened on the connection before. */
export type SessionNeed = 'none' | 'authenticated' | 'bucket';

/** Names of privileges (public document: kv_engine docs/rbac.md). */
export type PrivilegeName =
  | 'read'
  | 'insert'
  | 'upsert'
  | 'delete'
  | 'metaWrite'
  | 'rangeScan'
  | 'dcpProducer'
  | 'dcpStream'
  | 'simpleStats'
  | 'systemSettings'
  | 'administrator';

/** Held in the collection of the key; without a key in the bucket as a whole; without a bucket on the node. */
export interface PrivilegeNeed {
  all?: readonly PrivilegeName[];
  /** One of these is enough. */
  any?: readonly PrivilegeName[];
  /** One collection is enough to ask; the command checks those that it names, or answers nothing of others. */
  anywhere?: true;
}

export interface CommandLayout {
  /** Allowed numbers of bytes; none when left out. */
  extras?: readonly number[];
  /** `document`: a key of a document with its collection id; `text`: anything, must be there. */
  key?: 'none' | 'document' | 'text' | 'optional';
  value?: 'none' | 'required' | 'optional';
  /** Values of documents and of parts of them are as long as a frame may be; others by default not. */
  valueBytesMax?: number;
  cas?: 'none' | 'optional' | 'required';
  /** The value may be compressed or carry extended attributes. */
  typedValue?: boolean;
}

export interface CommandSpec {
  opcode: number;
  name: string;
  session: SessionNeed;
  /** Checked before the command runs. */
  privilege?: PrivilegeNeed;
  request?: CommandLayout;
  /** No answer on success, or on a miss. */
  quiet?: 'success' | 'miss' | null;
  durability?: boolean;
  preserveTtl?: boolean;
  /** May name one of several streams of its vbucket. */
  streamId?: boolean;
  /** May be answered out of order once the client allows it. */
  reorderable?: boolean;
  /** Runs without a bucket too, and asks about it itself. */
  withoutBucket?: boolean;
  /** Runs on a bucket whose documents are still being loaded. */
  duringWarmup?: boolean;
  doc: string;
}

/** Of a value that is no document's. */
const usualValueBytes = 64 * 1024;

const keyRules = { none: 0, document: 1, text: 2, optional: 3 } as const;
const valueRules = { none: 0, required: 1, optional: 2 } as const;
const casRules = { none: 0, optional: 1, required: 2 } as const;
export const KeyRule = keyRules;

/** A declared command, with its layout in the form the validator reads. All have one shape: the data path reads them. */
export interface Command {
  readonly opcode: number;
  readonly name: string;
  readonly session: SessionNeed;
  readonly privilege: PrivilegeNeed;
  readonly request: CommandLayout;
  readonly quiet: 'success' | 'miss' | null;
  readonly durability: boolean;
  readonly preserveTtl: boolean;
  readonly streamId: boolean;
  readonly reorderable: boolean;
  readonly withoutBucket: boolean;
  readonly duringWarmup: boolean;
  readonly doc: string;
  /** Bit n: extras of n bytes are allowed, for n up to 31; longer ones are looked up. */
  readonly extrasMask: number;
  readonly keyRule: number;
  readonly valueRule: number;
  readonly valueBytesMax: number;
  readonly casRule: number;
}

export function defineCommand(spec: CommandSpec): Command {
  const { request = {} } = spec;
  const { extras = [0], key = 'none', value = 'none', cas = 'none' } = request;
  return {
    opcode: spec.opcode,
    name: spec.name,
    session: spec.session,
    privilege: spec.privilege ?? {},
    request,
    quiet: spec.quiet ?? null,
    durability: spec.durability ?? false,
    preserveTtl: spec.preserveTtl ?? false,
    streamId: spec.streamId ?? false,
    reorderable: spec.reorderable ?? false,
    withoutBucket: spec.withoutBucket ?? false,
    duringWarmup: spec.duringWarmup ?? false,
    doc: spec.doc,
    extrasMask: extras.reduce((mask, bytes) => mask | (bytes > 31 ? 0 : 1 << bytes), 0),
    keyRule: keyRules[key],
    valueRule: valueRules[value],
    valueBytesMax: request.valueBytesMax ?? (request.typedValue ? frameBytesMax : usualValueBytes),
    casRule: casRules[cas],
  };
}

/** Why a request does not have its command's layout, or null when it has. */
export function layoutProblem(command: Command, frame: Frame): string | null {
  const extrasBytes = frame.keyStart - frame.extrasStart;
  const keyBytes = frame.valueStart - frame.keyStart;
  const valueBytes = frame.end - frame.valueStart;
  const isKnown =
    extrasBytes > 31
      ? command.request.extras?.includes(extrasBytes)
      : (command.extrasMask & (1 << extrasBytes)) !== 0;
  if (!isKnown) {
    return command.extrasMask === 1
      ? 'Request must not include extras'
      : 'Request has extras of a wrong size';
  }
  if (command.keyRule === keyRules.none && keyBytes > 0) return 'Request must not include key';
  if ((command.keyRule === keyRules.document || command.keyRule === keyRules.text) && keyBytes === 0) {
    return 'Request must include key';
  }
  if (command.valueRule === valueRules.none && valueBytes > 0) return 'Request must not include value';
  if (command.valueRule === valueRules.required && valueBytes === 0) return 'Request must include value';
  if (valueBytes > command.valueBytesMax) return 'Request value is too long';
  const hasCas = frame.casHi !== 0 || frame.casLo !== 0;
  if (command.casRule === casRules.none && hasCas) return 'Request CAS must not be set';
  if (command.casRule === casRules.required && !hasCas) return 'Request CAS must be set';
  return null;
}
