// Refusals of requests to the backup service that are sent to the administration port.
import { defineRefusals } from '#contract/refusal.ts';

export const backupProxyRefusals = defineRefusals('backupProxy', {
  notHere: { status: 404, as: 'text', text: 'Service backup not running on this node' },
  noAnswer: { status: 502, as: 'text', text: 'The backup service does not answer: {reason}' },
  onBehalf: { as: 'text', text: 'cb-on-behalf-of is not forwarded to the backup service' },
  basicOnly: {
    as: 'text',
    text: 'Basic credentials are needed: they are forwarded to the backup service',
  },
});
