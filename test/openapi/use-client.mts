// Uses the client for TypeScript that was generated: the compiler checks what it sends and gets, and it runs against a node.
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

const [address = ''] = process.argv.slice(2);
const client = createClient<paths>({
  baseUrl: address,
  headers: {
    authorization: `Basic ${Buffer.from('Administrator:password').toString('base64')}`,
    'Content-Type': 'application/x-www-form-urlencoded',
  },
});
const must = (condition: boolean, what: string): void => {
  if (!condition) throw new Error(what);
};

const created = await client.POST('/pools/default/buckets', {
  body: { name: 'typescript', ramQuotaMB: 100, replicaNumber: 0 },
});
must(created.response.status === 202, `created: ${created.response.status}`);
const refused = await client.POST('/pools/default/buckets', {
  // @ts-expect-error a bucket needs its name
  body: { ramQuotaMB: 100 },
});
must(refused.response.status === 400, `refused: ${refused.response.status}`);
const { data } = await client.GET('/pools/default/buckets/{bucket}', {
  params: { path: { bucket: 'typescript' } },
});
const quotaBytes: number = data?.quota.rawRAM ?? 0;
must(quotaBytes === 100 * 1024 * 1024, `quota: ${quotaBytes}`);
const whole = await client.GET('/pools/default');
must(whole.data?.nodes.length === 1, 'one node');
console.log('done');
