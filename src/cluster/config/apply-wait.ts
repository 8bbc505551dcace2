/**
 * How long the answer to a change waits until the data service has applied the change. A machine with much other work can need several
 * seconds; after a longer stall the answer comes first.
 */
export const applyWaitMs = 10_000;
