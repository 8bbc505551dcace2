// The calls and forms that the published command-line tool sends, to a cluster of two nodes: the tool finds nodes by their addresses in
// `/pools/default` and groups by their names, follows the links of the answers, and sends groups back as it read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';

const waitLimitMs = 240_000;

interface Group {
  name: string;
  uri: string;
  addNodeURI: string;
  nodes: { hostname: string }[];
}

interface Groups {
  uri: string;
  groups: Group[];
}

interface Task {
  type: string;
  status: string;
  errorMessage?: string;
}

/** Sends what the tool sends, and accepts what the tool accepts. */
class Tool {
  readonly #node: NodeProcess;

  constructor(node: NodeProcess) {
    this.#node = node;
  }

  async read<T>(path: string): Promise<T> {
    const answer = await this.#node.request(path);
    assert.equal(answer.status, 200, path);
    return answer.json() as Promise<T>;
  }

  /** Both 200 and 202 are successes. */
  async post(path: string, form: Record<string, string>): Promise<void> {
    const answer = await this.#node.request(path, 'POST', form);
    assert.ok([200, 202].includes(answer.status), `${path}: ${answer.status} ${await answer.text()}`);
  }

  async send(method: string, path: string, body: string, type: string): Promise<void> {
    const { username, password } = administrator;
    const answer = await fetch(`${this.#node.ready.node.rest}${path}`, {
      method,
      body,
      headers: { authorization: `Basic ${btoa(`${username}:${password}`)}`, 'content-type': type },
    });
    assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
  }

  async group(name: string): Promise<Group> {
    const { groups } = await this.read<Groups>('/pools/default/serverGroups');
    return groups.find((group) => group.name === name) ?? assert.fail(`no group ${name}`);
  }

  /** The names of the nodes with their memberships. */
  async nodes(): Promise<[string, string][]> {
    const { nodes } = await this.read<{ nodes: { otpNode: string; clusterMembership: string }[] }>(
      '/pools/default',
    );
    return nodes.map(({ otpNode, clusterMembership }) => [otpNode, clusterMembership]);
  }

  async rebalance(ejectedNodes = ''): Promise<void> {
    const knownNodes = (await this.nodes()).map(([name]) => name).join(',');
    await this.post('/controller/rebalance', { knownNodes, ejectedNodes });
    await this.untilEnded();
  }

  /** Waits until the last rebalance or graceful failover has ended without an error. */
  untilEnded(): Promise<void> {
    return eventuallyWithin(waitLimitMs, async () => {
      const tasks = await this.read<Task[]>('/pools/default/tasks');
      const { status, errorMessage } =
        tasks.find(({ type }) => type === 'rebalance') ?? assert.fail('no task');
      assert.deepEqual([status, errorMessage], ['notRunning', undefined]);
    });
  }
}

test('the command-line tool adds, groups, fails over, recovers and removes nodes', {
  timeout: 600_000,
}, async () => {
  await using first = await NodeProcess.start({ args: ['--services', 'kv', '--memory-quota', '256'] });
  await using second = await NodeProcess.start({ unprovisioned: true, args: ['--services', 'kv'] });
  const tool = new Tool(first);
  const address = new URL(second.ready.node.rest).host;

  // group-manage --create, server-add --group-name
  await tool.post('/pools/default/serverGroups', { name: 'Rack 2' });
  const { addNodeURI } = await tool.group('Rack 2');
  // An unprovisioned node takes any credentials, and the tool requires some.
  await tool.post(addNodeURI, { hostname: address, services: 'kv', user: 'any', password: 'any' });
  const [firstName, secondName] = (await tool.nodes()).map(([name]) => name) as [string, string];
  assert.deepEqual(await tool.nodes(), [
    [firstName, 'active'],
    [secondName, 'inactiveAdded'],
  ]);
  assert.deepEqual(
    (await tool.group('Rack 2')).nodes.map(({ hostname }) => hostname),
    [address],
  );
  await tool.rebalance();

  // group-manage --move-servers, --rename, --delete
  const read = await tool.read<Groups>('/pools/default/serverGroups');
  const [to, from] = [read.groups[0] as Group, read.groups[1] as Group];
  to.nodes.push(...from.nodes.splice(0));
  await tool.send('PUT', read.uri, JSON.stringify(read), 'application/json');
  const form = 'application/x-www-form-urlencoded';
  await tool.send('PUT', (await tool.group('Rack 2')).uri, 'name=Rack+3', form);
  await tool.send('DELETE', (await tool.group('Rack 3')).uri, 'name=Rack+3', form);
  assert.equal((await tool.group('Group 1')).nodes.length, 2);

  // setting-rebalance --set, --get, --pending-info, --cancel
  const retries = { enabled: 'true', afterTimePeriod: '10', maxAttempts: '2' };
  await tool.post('/settings/retryRebalance', retries);
  await tool.post('/settings/rebalance', { rebalanceMovesPerNode: '8' });
  assert.deepEqual(
    {
      ...(await tool.read<object>('/settings/retryRebalance')),
      ...(await tool.read<object>('/settings/rebalance')),
    },
    { enabled: true, afterTimePeriod: 10, maxAttempts: 2, rebalanceMovesPerNode: 8 },
  );
  assert.deepEqual(await tool.read('/pools/default/pendingRetryRebalance'), {
    retry_rebalance: 'not_pending',
  });
  await tool.post('/controller/cancelRebalanceRetry/none', {});

  // failover, recovery --recovery-type delta
  await tool.rebalance();
  await tool.post('/controller/startGracefulFailover', { otpNode: secondName });
  await tool.untilEnded();
  assert.deepEqual((await tool.nodes())[1], [secondName, 'inactiveFailed']);
  await tool.post('/controller/setRecoveryType', { otpNode: secondName, recoveryType: 'delta' });
  await tool.rebalance();
  assert.deepEqual((await tool.nodes())[1], [secondName, 'active']);

  // failover --hard --force, rebalance --server-remove
  await tool.post('/controller/failOver', { otpNode: secondName, allowUnsafe: 'true' });
  assert.deepEqual((await tool.nodes())[1], [secondName, 'inactiveFailed']);
  await tool.rebalance(secondName);
  assert.deepEqual(await tool.nodes(), [[firstName, 'active']]);
});
