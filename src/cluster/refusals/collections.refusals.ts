// Refusals of requests about scopes and collections.
import { defineRefusals } from '#contract/refusal.ts';

export const collectionRefusals = defineRefusals('collections', {
  scopeNotFound: {
    status: 404,
    as: 'fields',
    text: 'Scope with name "{scope}" is not found',
    published: true,
  },
  collectionNotFound: {
    status: 404,
    as: 'fields',
    text: 'Collection with name "{collection}" in scope "{scope}" is not found',
    published: true,
  },
  scopeExists: { as: 'fields', text: 'Scope with name "{scope}" already exists', published: true },
  collectionExists: {
    as: 'fields',
    text: 'Collection with name "{collection}" in scope "{scope}" already exists',
    published: true,
  },
  defaultScopeStays: { as: 'fields', text: 'Deleting _default scope is not allowed', published: true },
  defaultCollectionNotCreated: {
    as: 'fields',
    text: 'Cannot create _default collection in scope "{scope}". Creation of _default collection is not allowed.',
    published: true,
  },
  repeatedNames: { as: 'fields', text: 'Names of scopes, and of collections in a scope, must be unique' },
  tooMany: { as: 'fields', text: 'Maximum number of {kind} has been reached', published: true },
  scopeFull: {
    status: 429,
    as: 'fields',
    field: 'limits',
    text: 'Maximum number of collections has been reached for scope "{scope}"',
    published: true,
  },
  otherManifest: { as: 'fields', text: "validOnUid doesn't match the current manifest Uid", published: true },
  invalidValidOnUid: { as: 'fields', text: 'Invalid validOnUid', published: true },
  invalidManifest: {
    value: (errors: unknown) => ({ errors }),
    sample: '{"errors":{"scopes":"{problem}"}}',
    when: 'Upload of a manifest: the problems, at the same places as the wrong values of the manifest.',
  },
  invalidUid: { as: 'text', text: 'Invalid UID', published: true },
  timeoutOutOfRange: {
    as: 'fields',
    field: 'timeout',
    text: 'The value must be in range from 0 to {max}',
    published: true,
  },
  bucketGone: { status: 404, as: 'text', text: 'bucket no longer exists', published: true },
  timeout: { status: 504, as: 'text', text: 'timeout', published: true },
  otherBucketType: { as: 'text', text: 'Not allowed on this type of bucket', published: true },
  notPermitted: {
    status: 403,
    as: 'fields',
    text: 'Operation is not allowed due to insufficient permissions',
    published: true,
  },
  expiryNeedsEnterprise: {
    as: 'fields',
    field: 'maxTTL',
    text: 'Supported in enterprise edition only',
    published: true,
  },
});
