// The documents in which transactions of SDKs and of the query service record their attempts.

const recordPattern = /^_txn:(?:client-record|atr-\d{1,4}-#[0-9a-f]+)$/;

const prefix = '_txn:';
export const transactionPrefix = Buffer.from(prefix);

/** Whether the key is that of a record of attempts or of clients. Current SDKs write records that are not JSON; the first SDKs wrote JSON. */
export const isTransactionRecordKey = (key: string): boolean =>
  key.startsWith(prefix) && recordPattern.test(key);
