// Refusals of requests about documents, and of the view ports.
import { defineRefusals } from '#contract/refusal.ts';

export const documentRefusals = defineRefusals('documents', {
  badRequest: {
    as: 'code',
    error: 'bad_request',
    text: '{reason}',
    when: 'The reason names the field and what would be right.',
  },
  notFound: { status: 404, as: 'empty', when: 'The collection has no document with this key.' },
  scopeNotFound: {
    status: 404,
    as: 'bare',
    field: 'error',
    text: 'Scope with name "{scope}" is not found',
    published: true,
  },
  collectionNotFound: {
    status: 404,
    as: 'bare',
    field: 'error',
    text: 'Collection with name "{collection}" in scope "{scope}" is not found',
    published: true,
  },
  scopeGone: { status: 404, as: 'code', error: 'not_found', text: 'The scope was dropped' },
  collectionGone: { status: 404, as: 'code', error: 'not_found', text: 'The collection was dropped' },
  otherVersion: {
    status: 409,
    as: 'code',
    error: 'conflict',
    text: 'cas: the document has another version',
  },
  locked: { status: 409, as: 'code', error: 'conflict', text: 'The document is locked' },
  notSupported: { status: 501, as: 'code', error: 'memcached_error', text: 'not_supported' },
  busy: {
    status: 503,
    as: 'code',
    error: 'temporary_failure',
    text: 'The data service cannot do this now; try again later',
  },
  otherStatus: { status: 500, as: 'code', error: 'memcached_error', text: 'status 0x{status}' },
  invalidFlags: { as: 'text', text: "'flags' must be a valid positive integer" },
  noDatabase: { status: 404, as: 'code', error: 'not_found', text: 'no_db_file', published: true },
  noViews: {
    status: 404,
    as: 'code',
    error: 'not_found',
    text: 'views are not served by this version',
  },
});
