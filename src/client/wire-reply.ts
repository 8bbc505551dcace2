// The reply to a request as a value, copied out of the receive buffer.
import { type Frame, responseStatus } from '#wire/frame.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { StatusError } from './data-port-error.ts';

export interface WireReply {
  status: number;
  datatype: number;
  cas: bigint;
  extras: Buffer;
  key: Buffer;
  value: Buffer;
}

/** @throws StatusError for any status other than success */
export function successOf({ opcode }: RequestParts, reply: WireReply): WireReply {
  if (reply.status === Status.success) return reply;
  throw new StatusError(opcode, reply.status);
}

/** Copies a reply out of the receive buffer. */
export function replyOf(frame: Frame): WireReply {
  const { extrasStart, keyStart, valueStart, end } = frame;
  const body = Buffer.from(frame.buffer.subarray(extrasStart, end));
  return {
    status: responseStatus(frame),
    datatype: frame.datatype,
    cas: casOf(frame),
    extras: body.subarray(0, keyStart - extrasStart),
    key: body.subarray(keyStart - extrasStart, valueStart - extrasStart),
    value: body.subarray(valueStart - extrasStart),
  };
}

export const casOf = ({ casHi, casLo }: Frame): bigint => (BigInt(casHi) << 32n) | BigInt(casLo);
