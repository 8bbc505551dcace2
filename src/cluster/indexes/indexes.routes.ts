// Handlers for indexes: join their definitions with the reports of the index service.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import { managerIndexRecord } from '#index/rest/index-records.contract.ts';
import * as contract from './indexes.contract.ts';
import { type IndexRoutesParts, shownIndexes, shownNode } from './shown-indexes.ts';

export const indexRoutes = (parts: IndexRoutesParts): BoundRoute[] => [
  bind(contract.GetIndexStatus, async (_input, context) => {
    const [shown, node] = [await shownIndexes(parts), await shownNode(parts, context)];
    return reply.json({
      indexes: shown.map((index) => managerIndexRecord(index, node)),
      version: shown.length,
      warnings: [],
    });
  }),
];
