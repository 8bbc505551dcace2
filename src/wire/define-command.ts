// The declaration of one command of the binary protocol. The request validator, the opcode table, the checks of session and
// privileges, the reference page and the tests of layouts and privileges are derived from it.
import { type Frame, frameBytesMax } from './frame.ts';

/** State of the session that a command requires. */
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

/**
 * Privileges that a command requires: in the collection of its key; if it has no key, in the whole bucket; if it needs no bucket,
 * on the node.
 */
export interface PrivilegeNeed {
  all?: readonly PrivilegeName[];
  /** At least one of these. */
  any?: readonly PrivilegeName[];
  /** The privileges in any one collection suffice; the command itself checks the collections that it reads. */
  anywhere?: true;
}

export interface CommandLayout {
  /** Allowed sizes in bytes; no extras by default. */
  extras?: readonly number[];
  /** `document`: a document key with its collection id; `text`: any bytes, at least one; `optional`: any bytes, or none. */
  key?: 'none' | 'document' | 'text' | 'optional';
  value?: 'none' | 'required' | 'optional';
  /** 64 KiB by default; with `typedValue` the largest frame. */
  valueBytesMax?: number;
  cas?: 'none' | 'optional' | 'required';
  /** The value may be compressed or carry extended attributes. */
  typedValue?: boolean;
}

/** Input of `defineCommand`. */
export interface CommandSpec {
  opcode: number;
  name: string;
  session: SessionNeed;
  /** The dispatcher checks it before the command runs. */
  privilege?: PrivilegeNeed;
  request?: CommandLayout;
  /** No reply is sent in case of success, or of a missing key. */
  quiet?: 'success' | 'miss' | null;
  /** Accepts the durability framing extra. */
  durability?: boolean;
  /** Accepts the framing extra that preserves the expiry. */
  preserveTtl?: boolean;
  /** Accepts the framing extra that names one of several streams of the vbucket. */
  streamId?: boolean;
  /** May be answered out of order if the client negotiated unordered execution. */
  reorderable?: boolean;
  /** Runs without a selected bucket too; the command checks whether there is one. */
  withoutBucket?: boolean;
  /** Runs while the bucket is warming up. */
  duringWarmup?: boolean;
  /** One sentence for the reference page. */
  doc: string;
}

/** Default limit of values that are not documents. */
const defaultValueBytesMax = 64 * 1024;

export const keyRules = { none: 0, document: 1, text: 2, optional: 3 } as const;
const valueRules = { none: 0, required: 1, optional: 2 } as const;
const casRules = { none: 0, optional: 1, required: 2 } as const;

/**
 * A declared command; the layout is compiled to numbers. All commands have the same object shape, so that property access
 * on the data path stays monomorphic.
 */
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
  /** Bit n is set if extras of n bytes are allowed, for n up to 31; longer ones are looked up in `request.extras`. */
  readonly extrasMask: number;
  readonly keyRule: number;
  readonly valueRule: number;
  readonly valueBytesMax: number;
  readonly casRule: number;
}

/**
 * Declares a command; everything left out of `spec` is forbidden or false. Sizes are in bytes.
 *
 *     export const Touch = defineCommand({
 *       opcode: 0x1c,
 *       name: 'TOUCH',
 *       session: 'bucket',
 *       privilege: { all: ['upsert'] },
 *       request: { key: 'document', extras: [4] },
 *       doc: 'Sets the expiry of a document.',
 *     });
 *
 * Does not throw. A command takes effect once it is in `wire/commands/index.ts` and has a handler in `kv/commands/index.ts`.
 */
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
    valueBytesMax: request.valueBytesMax ?? (request.typedValue ? frameBytesMax : defaultValueBytesMax),
    casRule: casRules[cas],
  };
}

/** The first way in which a request violates its command's layout, or null. Published clients compare these texts. */
export function layoutProblem(command: Command, frame: Frame): string | null {
  const extrasBytes = frame.keyStart - frame.extrasStart;
  const keyBytes = frame.valueStart - frame.keyStart;
  const valueBytes = frame.end - frame.valueStart;
  const isSizeAllowed =
    extrasBytes > 31
      ? command.request.extras?.includes(extrasBytes)
      : (command.extrasMask & (1 << extrasBytes)) !== 0;
  if (!isSizeAllowed) {
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
