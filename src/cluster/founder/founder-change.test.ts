// Members of a simulated cluster whose founder is lost: one of them takes the configuration over, and all others follow it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { type StoreContent, type StoreHead, supersedes } from '#replog/mirror/config-link.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { type ClusterState, clusterKey, mapKey, type NodeState } from '../config/cluster-state.ts';
import { unknownPorts } from '../first-configuration.ts';
import type { FounderTransfer } from '../joining/join-messages.ts';
import { FounderChange, type FounderNotice } from './founder-change.ts';
import { takenOver } from './taken-over.ts';

const idOf = (name: string): string => name.repeat(32);

const aNode = (name: string): NodeState => ({
  uuid: idOf(name),
  otpNode: `n_${name}@127.0.0.1`,
  hostname: null,
  membership: 'active',
  services: ['kv'],
  ports: unknownPorts,
  alternate: null,
  paths: { data: '/', index: '/', analytics: [], eventing: '/', javaHome: '' },
});

const aState = (names: string): ClusterState => ({
  uuid: 'cluster',
  name: '',
  nodes: [...names].map(aNode),
  founder: idOf('a'),
  quotas: { indexMemoryQuota: 0, ftsMemoryQuota: 0, cbasMemoryQuota: 0, eventingMemoryQuota: 0 },
});

/**
 * Nodes by one letter. The founder is `a`, which never answers. Each request takes a tenth of a second, and fails between a node that is cut off
 * and one that is not.
 */
class Members {
  readonly clock = new SimulatedClock();
  readonly nodes = new Map<string, Member>();
  /** Ids of nodes that are cut off from the others. */
  readonly cut = new Set<string>();
  readonly state: ClusterState;

  constructor(names: string) {
    this.state = aState(names);
    for (const name of names) this.nodes.set(idOf(name), new Member(this, name));
  }

  node(name: string): Member {
    return this.nodes.get(idOf(name)) as Member;
  }

  async ask(from: string, to: string, name: string, body: unknown): Promise<unknown> {
    await this.clock.sleep(100);
    if (this.cut.has(from) !== this.cut.has(to) || this.node('a').id === to) throw new Error('no connection');
    const answer = this.nodes.get(to)?.answers.get(name);
    return structuredClone(await answer?.(structuredClone(body), from));
  }

  failOver(by: string, failing: string): Promise<void> {
    const nodes = this.state.nodes.filter(({ uuid }) => [...failing].map(idOf).includes(uuid));
    return this.node(by).change.takeOver({ failing: nodes, planId: `plan of ${by}` });
  }
}

class Member {
  readonly id: string;
  readonly answers = new Map<string, (body: unknown, from: string) => unknown>();
  readonly change: FounderChange;
  readonly followed: string[] = [];
  content: StoreContent;
  head: StoreHead;
  isFenced = false;
  takenOver: StoreContent | null = null;
  steppedDownFor: string | null = null;

  constructor(members: Members, name: string) {
    this.id = idOf(name);
    const { state, clock } = members;
    const isFounder = name === 'a';
    const record = { key: clusterKey, json: JSON.stringify(state), revision: 10, writes: null };
    this.content = { revision: 10, records: [record] };
    this.head = { identity: 'cluster', revision: 10, epoch: 1, founder: idOf('a') };
    const self = this;
    const founderTransfer: FounderTransfer = {
      get mirror() {
        if (isFounder || self.takenOver !== null) return null;
        return {
          head: { ...self.head, revision: self.content.revision },
          state: self.content,
          problem: 'the founder does not answer',
          fence: () => (self.isFenced = true),
          release: () => (self.isFenced = false),
        };
      },
      async takeOver(content) {
        await clock.sleep(50);
        self.takenOver = content;
      },
      follow(founder: NodeAddress, epoch: number) {
        self.followed.push(`${founder.nodeId[0]} in ${epoch}`);
        self.head = { ...self.head, epoch, founder: founder.nodeId };
      },
      pause: async () => null,
      resume: () => {},
      handOver: async () => {},
      stepDown: (parameters) => (self.steppedDownFor = parameters.founder.nodeId),
    };
    this.change = new FounderChange({
      clock,
      log: silentLog,
      founderTransfer,
      identity: { nodeId: this.id, bootId: `boot ${name}` },
      view: {
        get cluster() {
          const clusterText = self.takenOver?.records.find(({ key }) => key === clusterKey)?.json;
          return clusterText ? (JSON.parse(clusterText) as ClusterState) : state;
        },
        get revisionEpoch() {
          return this.cluster.revEpoch ?? 1;
        },
      },
      joinParametersFor: (founder) => ({
        clusterUuid: 'cluster',
        clusterKey: '',
        founder,
        credentials: { ca: '', cert: '', key: '' },
      }),
      peers: {
        answer: (name, answer) => void this.answers.set(name, answer as never),
        ask: <Value>(to: string, name: string, body: unknown) =>
          members.ask(this.id, to, name, body) as Promise<Value>,
      },
    });
  }
}

describe('a member that takes the configuration over', () => {
  it('begins with the newest copy among the members, in the next epoch, and all others follow it', async () => {
    const members = new Members('abcd');
    const newer = { key: 'k', json: '"the newest"', revision: 14, writes: null };
    const { content } = members.node('d');
    members.node('d').content = { revision: 14, records: [...content.records, newer] };
    await members.clock.until(members.failOver('c', 'a'));
    await members.clock.run(1_000);
    const { takenOver } = members.node('c');
    const byKey = new Map(takenOver?.records.map((record) => [record.key, record]));
    assert.equal(byKey.get('k')?.json, '"the newest"');
    assert.ok([...byKey.values()].every(({ revision }) => revision > 14));
    const state = JSON.parse(byKey.get(clusterKey)?.json ?? '') as ClusterState;
    assert.deepEqual([state.founder, state.revEpoch], [idOf('c'), 2]);
    assert.deepEqual(state.balance?.failing, [idOf('a')]);
    for (const name of 'bd') assert.deepEqual(members.node(name).followed, ['c in 2'], name);
  });

  it('is the only one if two members are asked at the same time', async () => {
    for (const names of ['abc', 'abcd', 'abcde'])
      for (const laterMs of [0, 20, 90, 110, 240, 260, 400]) {
        const members = new Members(names);
        const outcomes = Promise.allSettled([
          members.failOver('c', 'a'),
          members.clock.sleep(laterMs).then(() => members.failOver('b', 'a')),
        ]);
        await members.clock.until(outcomes);
        await members.clock.run(1_000);
        const founders = [...members.nodes.values()].filter(({ takenOver }) => takenOver !== null);
        const done = (await outcomes).filter(({ status }) => status === 'fulfilled');
        assert.deepEqual([founders.length, done.length], [1, 1], `${names}, ${laterMs} ms later`);
        for (const { id, followed } of members.nodes.values())
          if (id !== founders[0]?.id && id !== idOf('a')) assert.equal(followed.length, 1);
      }
  });

  it('needs a majority of the active nodes that were not named as failed', async () => {
    const members = new Members('abcd');
    members.cut.add(idOf('b'));
    await assert.rejects(members.clock.until(members.failOver('b', 'a')), /Not reached: n_c@127.0.0.1, n_d@/);
    assert.equal(members.node('b').isFenced, false);
    await members.clock.until(members.failOver('c', 'a'));
    await members.clock.run(1_000);
    assert.deepEqual(members.node('d').followed, ['c in 2']);
    assert.deepEqual(members.node('b').followed, []);
    // Node b was unreachable, and learns of the founder from the answer to a heartbeat.
    members.node('b').change.noticed(members.node('d').change.noticeFor(members.node('b').change.head));
    assert.deepEqual(members.node('b').followed, ['c in 2']);
    const alone = new Members('abcd');
    alone.cut.add(idOf('b'));
    await alone.clock.until(alone.failOver('b', 'acd'));
    assert.notEqual(alone.node('b').takenOver, null);
  });

  it('withdraws its claim when it cannot store the configuration', async () => {
    const members = new Members('abc');
    const { change } = members.node('c');
    const broken = new Error('the disk is full');
    Object.assign(members.node('c'), { takenOver: null });
    const failing = members.state.nodes.slice(0, 1);
    const claims = change.takeOver({ failing, planId: 'p' });
    Object.defineProperty(members.node('c'), 'takenOver', {
      get: () => null,
      set() {
        throw broken;
      },
    });
    await assert.rejects(members.clock.until(claims), /the disk is full/);
    await members.clock.run(1_000);
    assert.deepEqual([members.node('b').isFenced, members.node('c').isFenced], [false, false]);
    // In a higher epoch, since the failed claim may have been stored.
    await members.clock.until(members.failOver('b', 'ac'));
    assert.equal(JSON.parse(members.node('b').takenOver?.records[0]?.json ?? '').revEpoch, 3);
  });

  it('makes the earlier founder step down once', async () => {
    const members = new Members('abc');
    await members.clock.until(members.failOver('c', 'a'));
    await members.clock.run(1_000);
    const { change } = members.node('a');
    const notice = members.node('b').change.noticeFor(change.head) as FounderNotice;
    assert.deepEqual([notice.epoch, notice.founder.nodeId], [2, idOf('c')]);
    change.noticed(notice);
    assert.equal(members.node('a').steppedDownFor, idOf('c'));
    assert.equal(members.node('c').change.noticeFor(members.node('c').change.head), null);
  });
});

describe('the configuration that was taken over', () => {
  it('raises the epochs of the shards whose active has failed above every epoch that the active may have confirmed', () => {
    const shards = [
      { epoch: 3, chain: [0, 1], confirmed: 'boot a', stopped: 2 },
      { epoch: 5, chain: [1, 0], confirmed: 'boot b' },
    ];
    const map = {
      key: mapKey('u'),
      json: JSON.stringify({ nodes: [idOf('a'), idOf('b')], shards }),
      revision: 3,
    };
    const { records } = takenOver(
      { revision: 9, records: [{ ...map, writes: null }] },
      { node: idOf('b'), boot: 'x', epoch: 2, failing: [idOf('a')], planId: 'p', startedMs: 0 },
    );
    assert.deepEqual(JSON.parse(records[0]?.json ?? '').shards, [{ epoch: 1_003, chain: [0, 1] }, shards[1]]);
  });

  it('supersedes one of a lower epoch, and in the same epoch that of a founder with a higher id', () => {
    assert.equal(supersedes({ epoch: 2, founder: 'z' }, { epoch: 1, founder: 'a' }), true);
    assert.equal(supersedes({ epoch: 2, founder: 'a' }, { epoch: 2, founder: 'b' }), true);
    assert.equal(supersedes({ epoch: 2, founder: 'b' }, { epoch: 2, founder: 'a' }), false);
    assert.equal(supersedes({ founder: 'a' }, { founder: 'a' }), false);
  });
});
