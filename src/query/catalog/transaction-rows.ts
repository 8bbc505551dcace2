// Rows of system:transactions. They do not contain the changes of a transaction.

import type { PlainRow } from '../query.contract.ts';
import { durationText } from '../request/duration.ts';
import type { Transaction } from '../transactions/transaction.ts';

const consistencies = { not_bounded: 'unbounded', at_plus: 'at_plus' } as const;

export function transactionRow(transaction: Transaction): PlainRow {
  const { start, changes, isolation, statementNumber, uses, lastUseWallMs, startedWallMs } = transaction;
  const { id, timeoutMs, kvTimeoutMs, durability, consistency, recordLocation, memoryBytesMax } = start;
  const value = {
    id,
    timeout: durationText(timeoutMs),
    kvTimeout: durationText(kvTimeoutMs),
    durabilityLevel: durability,
    isolationLevel: isolation,
    scanConsistency: consistencies[consistency as 'at_plus'] ?? 'scan_plus',
    atrCollection: recordLocation === null ? undefined : collectionText(recordLocation),
    numAtrs: 1024,
    implicit: start.isImplicit || undefined,
    lastStmtNum: statementNumber || undefined,
    lastUse: timeText(lastUseWallMs),
    expiryTime: timeText(startedWallMs + timeoutMs),
    uses,
    status: stateText(transaction),
    users: start.users.join(','),
    usedMemory: changes.usedBytes,
    memoryQuota: memoryBytesMax,
  };
  return { id, value };
}

const collectionText = ({
  bucket,
  scope,
  collection,
}: {
  bucket: string;
  scope: string;
  collection: string;
}) => `default:${bucket}.${scope}.${collection}`;

const timeText = (ms: number): string => new Date(ms).toISOString();

function stateText({ state, isBusy, leftMs }: Transaction): string {
  if (state !== 'open' || leftMs <= 0) return 'Expired';
  return isBusy ? 'Inuse' : 'Idle';
}
