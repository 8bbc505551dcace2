// The documents in which transactions of SDKs and of the query service record their attempts.

const recordPattern = /^_txn:(?:client-record|atr-\d{1,4}-#[0-9a-f]+)$/;

export const transactionPrefix = Buffer.from('_txn:');

/** Whether the key is that of a record of attempts or of clients. Records of today's SDKs are not JSON; those of the first were. */
export const isTransactionRecordKey = (key: string): boolean =>
  key.startsWith('_txn:') && recordPattern.test(key);
