// Requests of tests that store documents through a client.
import type { StoreRequest } from '#client/bucket-client.ts';

/** Stores a document that does not expire, whether or not one exists, unless `overrides` say otherwise. */
export const storing = (
  key: string,
  value: string | Buffer = '1',
  overrides: Partial<StoreRequest> = {},
): StoreRequest => ({
  kind: 'set',
  key,
  value: Buffer.from(value),
  cas: 0n,
  expiry: 0,
  ...overrides,
});
