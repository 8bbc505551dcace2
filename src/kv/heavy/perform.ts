// Runs a job of heavy work.

import { SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import { inItemMemory } from '../memory/item-memory.ts';
import { executeLookup, executeMutation } from '../subdoc/execute.ts';
import { decodeMultiLookup, decodeMultiMutation, decodeSingle } from '../subdoc/specs.ts';
import { validateValue } from '../value/validate-value.ts';
import type { HeavyJob, HeavyResult, SubdocJob, ValidatedValue, ValidateJob } from './jobs.ts';

export function perform(job: HeavyJob): HeavyResult {
  if (job.kind === 'validate') return validate(job);
  const request = decode(job);
  if (typeof request === 'number') throw new Error('a request that was decoded before cannot be decoded');
  const { context, document } = job;
  if (job.kind === 'lookup') return executeLookup(document, request, context);
  const outcome = executeMutation(document, request, context);
  return { ...outcome, value: inOwnMemory([outcome.value], job.room) ?? outcome.value };
}

function validate({ parts, encoding, room }: ValidateJob): ValidatedValue {
  const joined = parts.length === 1 ? null : (inOwnMemory(parts, room) ?? Buffer.concat(parts));
  const bytes = joined ?? (parts[0] as Buffer);
  const { plain, ...validation } = validateValue(bytes, 0, bytes.length, encoding);
  const stored = validation.fault === null ? (joined ?? inOwnMemory([plain ?? bytes], room)) : null;
  return { ...validation, plain: stored === null ? plain : null, stored };
}

/** A large value in memory that an item can take over; null if it is not large or not stored. */
function inOwnMemory(parts: readonly Buffer[], room: number): Buffer | null {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  if (room === 0 || bytes < ownMemoryBytes) return null;
  const value = inItemMemory(parts, room);
  if (value === null) throw new Error('the system has no memory for a large value');
  return value;
}

function decode({ opcode, extras, specs, decoding }: SubdocJob) {
  if (opcode === SubdocOpcode.multiLookup) return decodeMultiLookup(extras, specs, decoding);
  if (opcode === SubdocOpcode.multiMutation) return decodeMultiMutation(extras, specs, decoding);
  return decodeSingle(opcode, extras, specs, decoding);
}
