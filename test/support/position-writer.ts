// A thread that stores positions of a vbucket one after the other, as the index thread does: each has a history of its own, whose number is
// the seqno too.
import { workerData } from 'node:worker_threads';
import { IndexProgress } from '#index/index-progress.ts';

const { buffer, vb, histories } = workerData as { buffer: SharedArrayBuffer; vb: number; histories: number };
const progress = new IndexProgress(buffer);
for (let history = 1; history <= histories; history++)
  progress.setPosition(vb, { completeSeqno: history, uuid: BigInt(history) });
progress.publish();
