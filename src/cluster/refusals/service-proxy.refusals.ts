// Refusals of requests to the query and the backup service that are sent to the administration port.
import { defineRefusals } from '#contract/refusal.ts';

export const serviceProxyRefusals = defineRefusals('serviceProxy', {
  notHere: { status: 404, as: 'text', text: 'Service {service} not running on this node' },
  noAnswer: { status: 502, as: 'text', text: 'The {service} service does not answer: {reason}' },
  onBehalf: { as: 'text', text: 'cb-on-behalf-of is not forwarded to the {service} service' },
  basicOnly: {
    as: 'text',
    text: 'Basic credentials are needed: they are forwarded to the {service} service',
  },
});
