// Maps requests about automatic compaction to the service.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import { compactionAnswer, GetAutoCompaction, SetAutoCompaction } from './auto-compaction.contract.ts';
import type { AutoCompactionService } from './auto-compaction.service.ts';

export const autoCompactionRoutes = (service: AutoCompactionService): BoundRoute[] => [
  bind(GetAutoCompaction, async () => reply.json(compactionAnswer(await service.read()))),
  bind(SetAutoCompaction, async ({ body, justValidate }) => {
    await (justValidate ? service.validate(body) : service.change(body));
    return reply.json([]);
  }),
];
