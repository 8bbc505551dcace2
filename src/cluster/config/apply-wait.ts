/**
 * How long the answer to a change waits until the data service has applied the change. A machine with much other work can need several
 * seconds; after this time the answer is sent although the change is not applied yet.
 */
export const applyWaitMs = 10_000;
