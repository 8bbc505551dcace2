/**
 * How long the answer of a change waits for the data service, so that the change applies right after it. A machine with much other work
 * can need several seconds; after a longer stall the answer comes first.
 */
export const applyWaitMs = 10_000;
