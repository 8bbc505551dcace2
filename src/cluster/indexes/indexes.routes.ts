// Handlers for indexes: join their definitions with the reports of the index service.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import { managerIndexRecord, type ShownCopy, type ShownIndex } from '#index/rest/index-records.contract.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import type { IndexNodes, IndexOnNode } from './index-nodes.ts';
import * as contract from './indexes.contract.ts';
import { keepsIndexes } from './indexes.service.ts';
import {
  type IndexRoutesParts,
  mayOnIndex,
  recordsVersion,
  shownIndexes,
  shownNode,
} from './shown-indexes.ts';

interface AllIndexesParts extends IndexRoutesParts {
  readonly indexNodes: Pick<IndexNodes, 'onOtherNodes'>;
}

export const indexRoutes = (parts: AllIndexesParts): BoundRoute[] => [
  bind(contract.GetIndexStatus, async (_input, context) => {
    const { view, indexNodes } = parts;
    const all = await shownIndexes(parts);
    const indexes = all.filter((index) => mayOnIndex(index, context, 'read'));
    const own = await shownNode(parts, context);
    const onOtherNodes = indexes.length === 0 ? new Map() : await indexNodes.onOtherNodes();
    const copiesOf = ({ definition, report }: ShownIndex): ShownCopy[] => {
      const others = (onOtherNodes.get(definition.id) ?? []).map((copy: IndexOnNode) => ({
        ...copy,
        address: nodeAddress({ node: copy.node, localAddress: context.local.address }),
      }));
      if (!keepsIndexes(view.self)) return others;
      // An index without a report was just created: the index service does not know it yet.
      const { state = 'deferred', progress = 0, lastScanMs = 0 } = report ?? {};
      return [{ address: own.address, state, progress, lastScanMs }, ...others];
    };
    const { storageMode } = own;
    const records = indexes.map((index) =>
      managerIndexRecord(index, { storageMode, copies: copiesOf(index) }),
    );
    return reply.json({
      indexes: records,
      version: recordsVersion(records),
      warnings: [],
    });
  }),
];
