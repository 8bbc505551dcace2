// The index service of a node without one: has no indexes.
import type { IndexServiceAdmin } from '#index/index.contract.ts';

export const noIndexService: IndexServiceAdmin = {
  apply: () => {},
  reports: () => [],
  refresh: () => Promise.resolve(),
  onChange: () => ({ stop: () => {} }),
};
