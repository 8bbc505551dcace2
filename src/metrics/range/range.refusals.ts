// Refusals of range queries.
import { defineRefusals } from '#contract/refusal.ts';

const oneList = (problem: string) => ({ errors: [{ _: problem }] });

export const rangeRefusals = defineRefusals('metrics', {
  noMetric: {
    status: 404,
    value: () => ({
      status: 404,
      msg: 'The path names no metric: /pools/default/stats/range/<metric>[/<function>...]',
    }),
    sample:
      '{"status":404,"msg":"The path names no metric: /pools/default/stats/range/<metric>[/<function>...]"}',
  },
  noList: {
    value: () => oneList('A Json array must be specified.'),
    sample: '{"errors":[{"_":"A Json array must be specified."}]}',
  },
  tooManyRequests: {
    value: (limit: number) => oneList(`at most ${limit} requests at once`),
    sample: '{"errors":[{"_":"at most {limit} requests at once"}]}',
  },
  invalidRequests: {
    value: (errors: readonly Readonly<Record<string, string>>[]) => ({ errors }),
    sample: '{"errors":[{"{field}":"{text}"}]}',
    when: 'One object for each request of the list.',
  },
});
