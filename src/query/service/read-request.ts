// Reads the parameters of a request, those of a large body in time slices. Nobody is authenticated yet.
import type { QueryRequest } from '../request/query-request.ts';
import {
  isLargeBody,
  readLargeParameters,
  readParameters,
  type SentRequest,
} from '../request/read-parameters.ts';
import type { QueryParts } from '../state/parts.ts';
import { inSlices } from './steps-in-slices.ts';

/** @throws SqlError of the group 1000, or why the request was cancelled */
export function readRequest(
  service: QueryParts,
  sent: SentRequest,
  signal: AbortSignal,
): QueryRequest | Promise<QueryRequest> {
  return isLargeBody(sent) ? inSlices(service, readLargeParameters(sent), signal) : readParameters(sent);
}
