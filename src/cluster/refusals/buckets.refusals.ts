// Refusals of requests about buckets.
import { defineRefusals } from '#contract/refusal.ts';

export const bucketRefusals = defineRefusals('buckets', {
  invalid: { as: 'bucketFields', when: 'Creation or change: each wrong field with its text.' },
  createDuringRebalance: {
    status: 503,
    as: 'bare',
    text: 'Cannot create buckets during rebalance',
    published: true,
  },
  editDuringRebalance: {
    status: 503,
    as: 'text',
    text: 'Cannot update bucket while rebalance is running.',
    published: true,
  },
  deleteDuringRebalance: {
    status: 503,
    as: 'bare',
    text: 'Cannot delete buckets during rebalance.\r\n',
    published: true,
  },
  flushDuringRebalance: {
    status: 503,
    as: 'bare',
    text: 'Cannot flush buckets during rebalance',
    published: true,
  },
  nameInDeletion: {
    status: 503,
    as: 'bucketFields',
    when: 'The name is that of a bucket whose files are being deleted.',
  },
  flushDisabled: { as: 'bare', text: 'Flush is disabled for the bucket', published: true },
  flushReplicated: {
    status: 503,
    as: 'bare',
    text: 'Cannot flush buckets with outgoing XDCR',
    published: true,
  },
  flushFailed: {
    status: 500,
    as: 'bare',
    text: 'Flush failed with unexpected error. Check server logs for details.',
    published: true,
  },
  deletionContinues: {
    status: 500,
    as: 'bare',
    text: 'Bucket deletion not yet complete, but will continue.\r\n',
    published: true,
  },
  noRecovery: {
    status: 501,
    as: 'text',
    text: 'Recovery of lost vbuckets is not available in this version.',
  },
  noRandomKey: {
    status: 404,
    value: () => ({ ok: false, error: 'fallback_to_all_docs' }),
    sample: '{"ok":false,"error":"fallback_to_all_docs"}',
    when: 'The bucket has no document.',
    published: true,
  },
  unknownZoom: { as: 'text', text: 'incorrect zoom value', published: true },
});
