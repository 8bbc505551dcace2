// Handlers for indexes: join their definitions with the reports of the index service.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import { managerIndexRecord, type ShownCopy, type ShownIndex } from '#index/rest/index-records.contract.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import type { IndexNodes, IndexOnNode } from './index-nodes.ts';
import * as contract from './indexes.contract.ts';
import { type IndexRoutesParts, shownIndexes, shownNode } from './shown-indexes.ts';

interface AllIndexesParts extends IndexRoutesParts {
  readonly indexNodes: Pick<IndexNodes, 'onOtherNodes'>;
}

export const indexRoutes = (parts: AllIndexesParts): BoundRoute[] => [
  bind(contract.GetIndexStatus, async (_input, context) => {
    const [indexes, node] = [await shownIndexes(parts), await shownNode(parts, context)];
    const onOtherNodes = indexes.length === 0 ? new Map() : await parts.indexNodes.onOtherNodes();
    const copiesOf = ({ definition }: ShownIndex): ShownCopy[] =>
      (onOtherNodes.get(definition.id) ?? []).map((copy: IndexOnNode) => ({
        ...copy,
        address: nodeAddress({ node: copy.node, localAddress: context.local.address }),
      }));
    return reply.json({
      indexes: indexes.map((index) => managerIndexRecord(index, node, copiesOf(index))),
      version: indexes.length,
      warnings: [],
    });
  }),
];
