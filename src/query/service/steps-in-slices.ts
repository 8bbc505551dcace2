// Runs work in steps for a request that has no statement, in time slices, between which other requests run.
import type { WorkSteps } from '#base/steps.ts';
import { RunSlices } from '#sqlpp/run/run-slices.ts';
import type { QueryParts } from '../state/parts.ts';

const neverAborted = new AbortController().signal;

/** @throws what the work throws, or the reason of the signal */
export async function inSlices<T>(
  { slices, deps }: QueryParts,
  steps: WorkSteps<T>,
  signal = neverAborted,
): Promise<T> {
  const ofRequest = slices.begin();
  const context = {
    monotonicMs: () => deps.clock.monotonicMs(),
    pause: () => ofRequest.pause(),
    signal,
  };
  try {
    return await new RunSlices(context, undefined).resultOf(steps);
  } finally {
    ofRequest.end();
  }
}
