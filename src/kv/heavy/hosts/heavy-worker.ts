// The thread of heavy work: runs one job after the other.
import { parentPort } from 'node:worker_threads';
import { assert } from '#base/assert.ts';
import type { HeavyJob } from '../jobs.ts';
import { perform } from '../perform.ts';
import { type HeavyReply, transferableBuffers, withBuffers } from './messages.ts';

assert(parentPort !== null, 'heavy work does not run in a worker thread');
const port = parentPort;

port.on('message', (job: HeavyJob) => {
  const reply = answer(withBuffers(job));
  port.postMessage(reply, 'result' in reply ? transferableBuffers(reply.result) : []);
});

function answer(job: HeavyJob): HeavyReply {
  try {
    return { result: perform(job) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}
