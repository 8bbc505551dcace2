// Runs a job of heavy work.
import { SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { executeLookup, executeMutation } from '../subdoc/execute.ts';
import { decodeMultiLookup, decodeMultiMutation, decodeSingle } from '../subdoc/specs.ts';
import { judgeValue } from '../value/judge.ts';
import type { HeavyJob, HeavyResult, SubdocJob } from './jobs.ts';

export function perform(job: HeavyJob): HeavyResult {
  if (job.kind === 'judge') return judgeValue(job.bytes, 0, job.bytes.length, job.typed);
  const request = decode(job);
  if (typeof request === 'number') throw new Error('a request that was decoded before cannot be decoded');
  const { context, document } = job;
  return job.kind === 'lookup'
    ? executeLookup(document, request, context)
    : executeMutation(document, request, context);
}

function decode({ opcode, extras, specs, decoding }: SubdocJob) {
  if (opcode === SubdocOpcode.multiLookup) return decodeMultiLookup(extras, specs, decoding);
  if (opcode === SubdocOpcode.multiMutation) return decodeMultiMutation(extras, specs, decoding);
  return decodeSingle(opcode, extras, specs, decoding);
}
