// Routes of failovers, and of the recovery of nodes after one.

import { type BoundRoute, bind, reply } from '#contract/route.ts';
import * as contract from './failover.contract.ts';
import type { FailoverService } from './failover.service.ts';

export function failoverRoutes(service: FailoverService): BoundRoute[] {
  return [
    bind(contract.FailOver, async ({ body }) => {
      await service.startAndWait(body);
      return reply.empty();
    }),
    bind(contract.StartFailover, async ({ body }) => {
      await service.start(body);
      return reply.empty();
    }),
    bind(contract.StartGracefulFailover, async ({ body }) => {
      await service.startGracefully(body);
      return reply.empty();
    }),
    bind(contract.SetRecoveryType, async ({ body }) => {
      await service.setRecovery(body);
      return reply.json([]);
    }),
    bind(contract.ReAddNode, async ({ body }) => {
      await service.setRecovery({ ...body, recoveryType: 'full' });
      return reply.json([]);
    }),
    bind(contract.ReFailOver, async ({ body }) => {
      await service.failOverAgain(body);
      return reply.empty();
    }),
  ];
}
