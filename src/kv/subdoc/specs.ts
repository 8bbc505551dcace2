// Decodes the requests of the sub-document commands, and refuses those that are invalid for any document. Every length comes from a
// client and is checked before use. The decoded request contains views of the bytes and is valid only as long as those bytes.
//
//   single extras:  u16 path bytes, u8 flags, [u32 expiry], [u32 user flags], [u8 document flags]; value: path, value
//   multi extras:   [u32 expiry], [u32 user flags], [u8 document flags]; value: specs
//   lookup spec:    u8 opcode, u8 flags, u16 path bytes, path
//   mutation spec:  u8 opcode, u8 flags, u16 path bytes, u32 value bytes, path, value
import { Status } from '#wire/status.ts';
import { operationTraits } from '#wire/subdoc-opcodes.ts';
import { checkSpec, checkTogether } from './checks.ts';
import { emptyBytes } from './edit.ts';
import { pathBytesMax } from './path.ts';
import type { Spec, SubdocFeatures, SubdocRequest } from './request.ts';
import { xattrKeyOf } from './xattr-paths.ts';

export const specsMax = 16;

/** Input of a decoder besides the bytes. */
export interface DecodeContext {
  features: SubdocFeatures;
  /** The request's header has a CAS. */
  hasCas: boolean;
}

/** Decodes a single-path request (opcodes c5 to cf, d2, d3); returns a status if it is refused. */
export function decodeSingle(
  opcode: number,
  extras: Buffer,
  value: Buffer,
  context: DecodeContext,
): SubdocRequest | Status {
  const traits = operationTraits(opcode);
  if (traits === undefined || traits.wholeDoc) return Status.unknownCommand;
  if (extras.length < 3) return Status.invalidArguments;
  const pathBytes = extras.readUInt16BE(0);
  if (pathBytes > pathBytesMax || pathBytes > value.length) return Status.invalidArguments;
  const path = value.subarray(0, pathBytes);
  const spec: Spec = {
    opcode,
    flags: extras[2] as number,
    path,
    xattrKey: emptyBytes,
    value: value.subarray(pathBytes),
  };
  const request = newRequest([spec], true);
  if (!decodeOptions(extras.subarray(3), traits.mutates, request)) return Status.invalidArguments;
  return checked(request, traits.mutates, context);
}

/** Decodes a multi lookup (d0); returns a status if it is refused. */
export function decodeMultiLookup(
  extras: Buffer,
  value: Buffer,
  context: DecodeContext,
): SubdocRequest | Status {
  return decodeMulti(false, extras, value, context);
}

/** Decodes a multi mutation (d1); returns a status if it is refused. */
export function decodeMultiMutation(
  extras: Buffer,
  value: Buffer,
  context: DecodeContext,
): SubdocRequest | Status {
  return decodeMulti(true, extras, value, context);
}

function decodeMulti(
  mutates: boolean,
  extras: Buffer,
  value: Buffer,
  context: DecodeContext,
): SubdocRequest | Status {
  const request = newRequest([], false);
  if (!decodeOptions(extras, mutates, request)) return Status.invalidArguments;
  let at = 0;
  while (at < value.length) {
    if (request.specs.length === specsMax) return Status.subdocInvalidCombo;
    const spec = mutates ? decodeMutationSpec(value, at) : decodeLookupSpec(value, at);
    if (spec === null) return Status.invalidArguments;
    request.specs.push(spec);
    at += (mutates ? 8 : 4) + spec.path.length + spec.value.length;
  }
  if (request.specs.length === 0) return Status.subdocInvalidCombo;
  return checked(request, mutates, context);
}

function newRequest(specs: Spec[], hasSinglePath: boolean): SubdocRequest {
  return { specs, docFlags: 0, expiry: 0, userFlags: null, hasSinglePath };
}

/** Decodes the optional fields after the fixed extras; their number of bytes determines which are present. */
function decodeOptions(bytes: Buffer, mutates: boolean, request: SubdocRequest): boolean {
  const length = bytes.length;
  if (length > (mutates ? 9 : 1) || ![0, 1, 4, 5, 8, 9].includes(length)) return false;
  if (length >= 4) request.expiry = bytes.readUInt32BE(0);
  if (length >= 8) request.userFlags = bytes.readUInt32BE(4);
  if (length % 4 === 1) request.docFlags = bytes[length - 1] as number;
  return true;
}

function decodeLookupSpec(bytes: Buffer, at: number): Spec | null {
  if (bytes.length - at < 4) return null;
  const pathStart = at + 4;
  const pathEnd = pathStart + bytes.readUInt16BE(at + 2);
  return pathEnd > bytes.length ? null : specOf(bytes, at, pathStart, pathEnd, pathEnd);
}

function decodeMutationSpec(bytes: Buffer, at: number): Spec | null {
  if (bytes.length - at < 8) return null;
  const pathStart = at + 8;
  const pathEnd = pathStart + bytes.readUInt16BE(at + 2);
  const valueEnd = pathEnd + bytes.readUInt32BE(at + 4);
  return valueEnd > bytes.length ? null : specOf(bytes, at, pathStart, pathEnd, valueEnd);
}

function specOf(bytes: Buffer, at: number, pathStart: number, pathEnd: number, valueEnd: number): Spec {
  return {
    opcode: bytes[at] as number,
    flags: bytes[at + 1] as number,
    path: bytes.subarray(pathStart, pathEnd),
    xattrKey: emptyBytes,
    value: bytes.subarray(pathEnd, valueEnd),
  };
}

function checked(request: SubdocRequest, mutates: boolean, context: DecodeContext): SubdocRequest | Status {
  for (const spec of request.specs) {
    spec.xattrKey = xattrKeyOf(spec);
    const status = checkSpec(spec, mutates, context.features);
    if (status !== Status.success) return status;
  }
  const status = checkTogether(request, mutates, context);
  return status === Status.success ? request : status;
}
