// `divan/testing`: throw-away nodes for tests.
export { startNode } from './start-node.ts';
export type * from './types.ts';
export { useNode } from './use-node.ts';
