// The index service of a node without one: has no indexes.
import type { IndexDoor } from '#index/index.contract.ts';

export const noIndexService: IndexDoor = {
  apply: () => {},
  reports: () => [],
  refresh: () => Promise.resolve(),
  onChange: () => ({ stop: () => {} }),
};
