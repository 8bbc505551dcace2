// `divan/testing`: throw-away nodes for tests.
export { startNode } from './start-node.ts';
export type * from './types.ts';
