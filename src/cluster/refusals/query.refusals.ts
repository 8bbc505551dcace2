// Refusals of statements that are sent to the administration port.
import { defineRefusals } from '#contract/refusal.ts';

export const queryRefusals = defineRefusals('query', {
  notHere: { status: 404, as: 'text', text: 'Service query (n1ql) not running on this node' },
  noAnswer: { status: 502, as: 'text', text: 'The query service does not answer: {reason}' },
  onBehalf: { as: 'text', text: 'cb-on-behalf-of is not forwarded to the query service' },
  basicOnly: {
    as: 'text',
    text: 'Basic credentials are needed: they are forwarded to the query service',
  },
});
