// Refusals by the pipeline, before a request reaches its handler.
import { defineRefusals } from '#contract/refusal.ts';

export const httpRefusals = defineRefusals('http', {
  unauthenticated: { status: 401, as: 'empty', when: 'No credentials, or wrong ones.' },
  challenged: {
    status: 401,
    as: 'empty',
    headers: { 'WWW-Authenticate': 'Basic realm="Divan"' },
    when: 'No credentials, or wrong ones, from a client that did not decline the challenge.',
  },
  noRoute: {
    status: 404,
    as: 'text',
    text: 'Not found.',
    when: 'No GET route has this path.',
    published: true,
  },
  noPostRoute: {
    status: 404,
    as: 'text',
    text: 'Requested resource not found.\r\n',
    when: 'No POST route has this path.',
    published: true,
  },
  noMethod: {
    status: 405,
    as: 'text',
    text: 'Method Not Allowed',
    when: 'The method is not GET, HEAD or POST, and no route has this path and method.',
    published: true,
  },
  malformedPath: {
    status: 404,
    as: 'text',
    text: 'The path is not valid: broken percent-encoding or not UTF-8.',
  },
  repeatedHost: { as: 'text', text: 'The Host header is given more than once.' },
  otherSite: { status: 403, as: 'text', text: 'A page of another site ({site}) may change nothing here.' },
  publicName: {
    status: 403,
    as: 'text',
    text: 'Before the node is set up, browsers must call it by an address or by localhost to change something.',
  },
  otherBucket: {
    status: 404,
    as: 'text',
    text: 'Bucket uuid does not match the requested.\r\n',
    published: true,
  },
  otherCluster: {
    status: 404,
    as: 'text',
    text: 'Cluster uuid does not match the requested.\r\n',
    published: true,
  },
  bodyTooLarge: { status: 413, as: 'text', text: 'The request body is larger than {limit} bytes.' },
  tooManyFormFields: { as: 'fields', text: 'A form must have at most {limit} fields' },
  jsonTooComplex: {
    as: 'fields',
    text: '{problem}',
    when: 'The JSON is nested too deeply or has too many parts.',
  },
  tooManyRequests: {
    status: 503,
    as: 'text',
    text: 'Request throttled because maximum number of simultaneous connections has been exceeded',
    published: true,
  },
  tooMuchMemory: {
    status: 503,
    as: 'text',
    text: 'Request throttled because memory limit has been exceeded',
    published: true,
  },
  tooManyViewRequests: {
    status: 503,
    as: 'code',
    error: 'request_limit_exceeded',
    text: 'Request throttled because maximum number of simultaneous connections has been exceeded',
    published: true,
  },
  tooMuchViewMemory: {
    status: 503,
    as: 'code',
    error: 'memory_limit_exceeded',
    text: 'Request throttled because memory limit has been exceeded',
    published: true,
  },
  unwritable: {
    status: 500,
    as: 'list',
    text: '{reason}',
    when: 'The configuration cannot be written. Nothing was changed.',
  },
  unavailable: {
    status: 503,
    as: 'list',
    text: '{reason}',
    when: 'The servers that store the configuration cannot be reached, or too many clients change the same part of it. Try again.',
  },
  unexpected: {
    status: 500,
    as: 'list',
    text: 'Unexpected server error, request logged.',
    headers: { Connection: 'close' },
    published: true,
  },
});
