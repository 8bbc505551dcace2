// Requests of tests that store documents through a client.
import type { StoreRequest } from '#client/bucket-client.ts';

/** Stores a document that does not expire, whatever is there; `rest` says otherwise. */
export const storing = (
  key: string,
  value: string | Buffer = '1',
  rest: Partial<StoreRequest> = {},
): StoreRequest => ({
  kind: 'set',
  key,
  value: Buffer.from(value),
  cas: 0n,
  expiry: 0,
  ...rest,
});
