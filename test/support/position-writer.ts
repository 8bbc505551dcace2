// A thread that stores one history of a vbucket after the other, as the index thread does. The seqno is the history's number.
import { workerData } from 'node:worker_threads';
import { IndexProgress } from '#index/shared/index-progress.ts';

const { buffer, histories } = workerData as { buffer: SharedArrayBuffer; histories: number };
const progress = new IndexProgress(buffer);
for (let history = 1; history <= histories; history++)
  progress.setPosition(7, { completeSeqno: history, uuid: BigInt(history) });
progress.publish();
