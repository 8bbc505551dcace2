// A cloud in this process with a database in memory; it starts no nodes.
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { type CloudOptions, startCloud } from '#cloud/cloud.ts';
import type { Provisioner } from '#cloud/provisioner/provisioner.ts';
import { migrate } from '#cloud/store/migrations.ts';
import { openSqlite } from '#cloud/store/sqlite.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';

/** A provisioner that never runs a node. */
const nowhere = {
  existingNodes: () => Promise.resolve([]),
  close: () => Promise.resolve(),
} satisfies Partial<Provisioner> as unknown as Provisioner;

export async function aCloud(change: Partial<CloudOptions> = {}) {
  const { store, state } = openSqlite(':memory:');
  await migrate(store);
  const errors: string[] = [];
  const options: CloudOptions = {
    store,
    state,
    secrets: new SecretBox(realRandom.bytes(secretKeyBytes), realRandom),
    provisioner: nowhere,
    home: 'here',
    operatorAddress: undefined,
    capacityMb: 1_024,
    sizeScale: 1,
    requestsPerSecond: 1_000,
    version: '0.0.0',
    clock: realClock,
    random: realRandom,
    log: { ...silentLog, error: (event) => errors.push(event) },
    ...change,
  };
  const cloud = await startCloud(options);
  const get = async (url: string, { token = cloud.startToken.token, host = 'localhost' } = {}) => {
    const headers = { authorization: `Bearer ${token}`, host };
    const answer = await cloud.api.inject({ url, headers });
    return { status: answer.statusCode, body: answer.json() };
  };
  return { ...options, cloud, errors, get };
}
