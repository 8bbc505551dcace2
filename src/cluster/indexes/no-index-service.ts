// Stands in for the index service on nodes without it.
import type { IndexDoor } from '#index/index.contract.ts';

export const noIndexService: IndexDoor = {
  apply: () => {},
  reports: () => [],
  refresh: () => Promise.resolve(),
  onChange: () => ({ stop: () => {} }),
};
