// Refusals of requests about sample buckets.
import { defineRefusals } from '#contract/refusal.ts';

export const sampleRefusals = defineRefusals('samples', {
  notAList: { as: 'list', text: 'A [list] of names must be specified.', published: true },
  noQuota: {
    as: 'list',
    text: 'Not enough Quota, you need to allocate {quota}MB to install sample buckets',
    published: true,
  },
  notInstalled: {
    as: 'list',
    when: 'For each name: `Sample NAME is not a valid sample.`, `Sample bucket NAME is already loaded.`, is being loaded, or is being deleted.',
  },
});
