// Maps requests about sample buckets to the service.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import * as contract from './samples.contract.ts';
import type { SamplesService } from './samples.service.ts';

export const sampleRoutes = (service: SamplesService): BoundRoute[] => [
  bind(contract.ListSamples, () => reply.json(service.list())),
  bind(contract.InstallSamples, async ({ body }) => {
    await service.install(body);
    return reply.json([], 202);
  }),
];
