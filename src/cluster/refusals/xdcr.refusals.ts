// Refusals of requests about replication between clusters. Those about references have bare fields, as published; those about
// replications have them under `errors`.
import { defineRefusals } from '#contract/refusal.ts';

export const xdcrRefusals = defineRefusals('xdcr', {
  /** Each wrong field of a reference, or of settings, with its text. */
  invalidBare: { as: 'bare', when: 'Each wrong field with its text.' },
  invalidFields: { as: 'fields', when: 'Each wrong field with its text.' },
  unknownReference: { as: 'bare', text: 'unknown remote cluster : refName - {name}', published: true },
  duplicateName: { as: 'bare', text: 'Duplicate cluster names are not allowed', published: true },
  duplicateCluster: {
    as: 'bare',
    text: 'Cluster reference to the same cluster already exists under the name `{name}`',
    published: true,
  },
  otherCluster: {
    as: 'bare',
    text: 'The new hostname points to a different remote cluster {found}, which is not allowed with old cluster being {known}.',
    published: true,
  },
  referenceInUse: {
    as: 'bare',
    text: 'Cannot delete remote cluster `{name}` since it is referenced by replications [{ids}]',
    published: true,
  },
  mustBeEncrypted: {
    as: 'bare',
    text: 'Cluster encryption level is strict. Remote cluster reference must use full encryption.',
    published: true,
  },
  unreachable: { as: 'bare', text: '{problem}', when: 'The target cannot be used.' },
  tooManyReferences: { as: 'bare', text: 'There are {count} references already, which is the limit.' },
  tooMany: { as: 'fields', text: 'There are {count} replications already, which is the limit.' },
  exists: {
    as: 'fields',
    text: 'Replication to the same remote cluster and bucket already exists',
    published: true,
  },
  sameBucket: {
    as: 'fields',
    text: 'Replication from a bucket to the same bucket is not allowed',
    published: true,
  },
  otherResolution: {
    as: 'fields',
    text: 'Replication between buckets with different ConflictResolutionType setting is not allowed',
    published: true,
  },
  unknownReplication: { as: 'fields', text: 'requested resource not found', published: true },
});
