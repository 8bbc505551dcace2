// Reads the parameters of a request, those of a large body in time slices. Nobody is authenticated yet.
import { RunSlices } from '#sqlpp/run/run-slices.ts';
import type { QueryRequest } from '../request/query-request.ts';
import {
  isLargeBody,
  readLargeParameters,
  readParameters,
  type SentRequest,
} from '../request/read-parameters.ts';
import type { QueryParts } from '../state/parts.ts';

/** @throws SqlError of the group 1000, or why the request was cancelled */
export function readRequest(
  service: QueryParts,
  sent: SentRequest,
  signal: AbortSignal,
): QueryRequest | Promise<QueryRequest> {
  return isLargeBody(sent) ? readInSlices(service, sent, signal) : readParameters(sent);
}

async function readInSlices(
  { slices, deps }: QueryParts,
  sent: SentRequest,
  signal: AbortSignal,
): Promise<QueryRequest> {
  const ofRequest = slices.begin();
  const context = {
    monotonicMs: () => deps.clock.monotonicMs(),
    pause: () => ofRequest.pause(),
    signal,
  };
  try {
    return await new RunSlices(context, undefined).resultOf(readLargeParameters(sent));
  } finally {
    ofRequest.end();
  }
}
