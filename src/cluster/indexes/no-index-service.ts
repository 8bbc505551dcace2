// In the place of the index service where there is none.
import type { IndexDoor } from '#index/index.contract.ts';

export const noIndexService: IndexDoor = {
  apply: () => {},
  reports: () => [],
  refresh: () => Promise.resolve(),
  onChange: () => ({ stop: () => {} }),
};
