// The sample bucket of tutorials on real nodes: what its statements find, a kill in the middle, and nodes with different services.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { LookupInSpec } from 'couchbase';
import { rebalance } from '../support/join-nodes.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { connect } from '../support/sdk.ts';

const sample = 'travel-sample';
const waitMs = 240_000;
const scratch = mkdtempSync(join(tmpdir(), 'divan-samples-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const get = async (node: NodeProcess, path: string) => (await node.request(path)).json();

async function install(node: NodeProcess): Promise<{ status: number; body: unknown }> {
  const { username, password } = administrator;
  const answer = await fetch(`${node.ready.node.rest}/sampleBuckets/install`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
    body: JSON.stringify([sample]),
  });
  return { status: answer.status, body: await answer.json() };
}

const installed = (node: NodeProcess): Promise<void> =>
  eventuallyWithin(waitMs, async () => {
    const [{ installed: isInstalled }] = (await get(node, '/sampleBuckets')) as [{ installed: boolean }];
    assert.ok(isInstalled);
  });

const queryOf = (node: NodeProcess) => new QueryClient(node.ready.node.query as string);

/** Documents by collection, of which the default collection has all of inventory again. */
const counts = async (node: NodeProcess): Promise<unknown[]> =>
  await queryOf(node).rows(
    `SELECT (SELECT RAW COUNT(*) FROM \`${sample}\`.inventory.airline)[0] AS airline,
            (SELECT RAW COUNT(*) FROM \`${sample}\`.inventory.airport)[0] AS airport,
            (SELECT RAW COUNT(*) FROM \`${sample}\`.inventory.route)[0] AS route,
            (SELECT RAW COUNT(*) FROM \`${sample}\`.inventory.landmark)[0] AS landmark,
            (SELECT RAW COUNT(*) FROM \`${sample}\`.inventory.hotel)[0] AS hotel,
            (SELECT RAW COUNT(*) FROM \`${sample}\`)[0] AS copies`,
    { scan_consistency: 'request_plus' },
  );
const all = { airline: 187, airport: 400, route: 4_000, landmark: 1_200, hotel: 917, copies: 6_704 };

const indexStates = (node: NodeProcess): Promise<unknown[]> =>
  queryOf(node).rows('SELECT state, COUNT(*) AS indexes FROM system:indexes GROUP BY state');

describe('the bucket travel-sample', { timeout: 900_000 }, () => {
  it('is completed after a kill in the middle, keeps documents that were changed before, and its statements use its indexes', async () => {
    const dataDir = join(scratch, 'killed');
    {
      await using node = await NodeProcess.start({ dataDir });
      assert.deepEqual(await install(node), { status: 202, body: [] });
      const statement = `UPSERT INTO \`${sample}\`.inventory.airline VALUES ("airline_10", {"name": "changed"})`;
      await eventuallyWithin(waitMs, async () => {
        await queryOf(node).rows(statement, { durability_level: 'persistToMajority' });
      });
      await node.stop('SIGKILL');
    }
    await using node = await NodeProcess.start({ dataDir });
    await installed(node);
    assert.deepEqual(await counts(node), [all]);
    assert.deepEqual(await indexStates(node), [{ state: 'online', indexes: 23 }]);
    const [name] = await queryOf(node).rows(
      `SELECT RAW name FROM \`${sample}\`.inventory.airline USE KEYS "airline_10"`,
    );
    assert.equal(name, 'changed');
    const used = {
      def_inventory_airport_faa: 'SELECT airportname FROM inventory.airport WHERE faa = "SFO"',
      def_inventory_hotel_city: 'SELECT name FROM inventory.hotel WHERE city = "Paris"',
      def_inventory_route_route_src_dst_day:
        'SELECT s.utc FROM inventory.route AS r UNNEST r.schedule AS s WHERE r.sourceairport = "SFO" AND r.destinationairport = "LAX" AND ANY v IN r.schedule SATISFIES v.day = 2 END',
      def_inventory_route_schedule_utc:
        'SELECT COUNT(*) FROM inventory.route WHERE ARRAY s.utc FOR s IN schedule END > [] AND id > 0',
      def_type: 'SELECT COUNT(*) FROM `travel-sample` WHERE type = "hotel"',
      def_icao: 'SELECT id FROM `travel-sample` WHERE icao = "KSFO"',
    };
    for (const [index, statement] of Object.entries(used)) {
      const text = statement.replace(' inventory', ` \`${sample}\`.inventory`);
      const hinted = text.replace(
        ' WHERE',
        ` ${/ AS r UNNEST/.test(text) ? '' : `USE INDEX (${index})`} WHERE`,
      );
      assert.match(JSON.stringify(await queryOf(node).rows(`EXPLAIN ${hinted}`)), new RegExp(`"${index}"`));
      assert.ok((await queryOf(node).rows(hinted)).length > 0, hinted);
    }
    const cluster = await connect(node.ready.node.kv, administrator);
    const hotels = cluster.bucket(sample).scope('inventory').collection('hotel');
    const { content } = await hotels.lookupIn('hotel_10025', [LookupInSpec.get('geo.lat')]);
    assert.equal(typeof content[0]?.value, 'number');
    await cluster.close();
    assert.deepEqual(await install(node), {
      status: 400,
      body: [`Sample bucket ${sample} is already loaded.`],
    });
  });

  it('is installed by any node of a cluster whose nodes have different services', async () => {
    await using first = await NodeProcess.start({ args: ['--services', 'kv'] });
    await using second = await NodeProcess.start({ unprovisioned: true });
    await using third = await NodeProcess.start({ unprovisioned: true });
    for (const [added, services] of [
      [second, 'kv'],
      [third, 'index,n1ql'],
    ] as const) {
      const form = { hostname: added.ready.node.rest, user: '', password: '', services };
      assert.equal((await first.request('/controller/addNode', 'POST', form)).status, 200);
    }
    await rebalance(first);
    assert.deepEqual(await install(third), { status: 202, body: [] });
    for (const node of [first, second, third]) await installed(node);
    assert.deepEqual(await counts(third), [all]);
    assert.deepEqual(await indexStates(third), [{ state: 'online', indexes: 23 }]);
    const { replicaNumber } = (await get(first, `/pools/default/buckets/${sample}`)) as {
      replicaNumber: number;
    };
    assert.equal(replicaNumber, 1);
  });

  it('has documents only where no node keeps indexes, and the events say so', async () => {
    await using node = await NodeProcess.start({ args: ['--services', 'kv'] });
    assert.equal((await install(node)).status, 202);
    await installed(node);
    const { list } = (await get(node, '/logs')) as { list: { text: string }[] };
    assert.match(list.map(({ text }) => text).join('\n'), /travel-sample, without indexes: no node has/);
  });
});
