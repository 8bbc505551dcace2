import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { SeenHeadInMemory } from '../../../test/support/nats-store.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { MemoryConfigStore } from '../memory-config-store.ts';
import type { RecordFeed } from '../mirror/config-link.ts';
import { MirroredConfigStore } from '../mirror/mirrored-config-store.ts';
import type { Channel, FounderReply, FounderRequest } from './channel.ts';
import { ServedConfigLink } from './served-config-link.ts';
import { StoreServer } from './store-server.ts';

/** A link to a founder that answers when the test calls `reply`. */
function aLink() {
  const channels: { asked: FounderRequest[]; isOpen: boolean; reply(message: FounderReply): void }[] = [];
  const link = new ServedConfigLink('the founder', async () => {
    const state = { asked: [] as FounderRequest[], isOpen: true, reply: (_: FounderReply) => {} };
    channels.push(state);
    const channel: Channel = {
      send: (message) => void state.asked.push(message as FounderRequest),
      receive: ({ message }) => void (state.reply = message),
      close: () => void (state.isOpen = false),
    };
    return channel;
  });
  return { link, channels };
}

const aFeed = () => {
  const got: string[] = [];
  const feed: RecordFeed = {
    changed: () => got.push('changed'),
    complete: () => got.push('complete'),
    lost: () => got.push('lost'),
  };
  return { feed, got };
};
const soon = () => new Promise((resolve) => setImmediate(resolve));

test('neither a late answer to an earlier feed nor its stop affects the feed that follows it', async () => {
  const { link, channels } = aLink();
  const [first, second] = [aFeed(), aFeed()];
  const late = link.follow(first.feed);
  await soon();
  await assert.rejects(link.follow(second.feed), /an earlier feed was not stopped/);
  await assert.rejects(late, /an earlier feed was not stopped/);
  assert.equal(channels[0]?.isOpen, false);
  assert.deepEqual([first.got, second.got], [['lost'], []]);

  const begin = async ({ feed }: ReturnType<typeof aFeed>) => {
    const begun = link.follow(feed);
    await soon();
    const channel = channels.at(-1);
    channel?.reply({ id: channel.asked.at(-1)?.id as number, value: null });
    return await begun;
  };
  const begun = await begin(second);
  begun.stop();
  assert.equal(channels[1]?.isOpen, false);
  await begin(first);
  begun.stop();
  assert.equal(channels[2]?.isOpen, true);
});

test('a change that was not sent is not made if the key is deleted before the founder has been restarted', async () => {
  const clock = new SimulatedClock();
  const founder = new MemoryConfigStore();
  const serve = async (bootId: string) => {
    const server = new StoreServer({ store: founder, identity: 'the cluster', bootId });
    await server.start();
    return server;
  };
  let server: StoreServer | null = await serve('first boot');
  let cutOff = (): void => {};
  const connect = async (): Promise<Channel> => {
    if (server === null) throw new Error('the founder does not answer');
    const ends = { own: (_: unknown) => {}, other: (_: unknown) => {}, closed: (_: string) => {} };
    server.serve({
      send: (reply) => queueMicrotask(() => ends.own(reply)),
      receive: ({ message }) => void (ends.other = message),
      close: () => {},
    });
    cutOff = () => ends.closed('the connection was lost');
    return {
      send: (request) => queueMicrotask(() => ends.other(request)),
      receive: ({ message, closed }) => void Object.assign(ends, { own: message, closed }),
      close: () => {},
    };
  };
  const link = new ServedConfigLink('the founder', connect);
  const seen = new SeenHeadInMemory();
  const node = new MirroredConfigStore({ link, seen, clock, random: realRandom, log: silentLog });
  await clock.until(node.start());
  const revision = (await clock.until(node.put('k', 1, 0))) ?? assert.fail('not created');
  server = null;
  cutOff();
  const put = node.put('k', 2, revision);
  await clock.run(1_000);
  await founder.delete('k', revision);
  server = await serve('second boot');
  assert.equal(await clock.until(put), null);
  assert.equal(await founder.get('k'), null);
  await clock.until(node[Symbol.asyncDispose]());
});

for (const silentFor of ['head', 'follow'] as const)
  test(`a connection on which the founder does not answer "${silentFor}" is replaced`, async () => {
    const clock = new SimulatedClock();
    const server = new StoreServer({
      store: new MemoryConfigStore(),
      identity: 'the cluster',
      bootId: 'boot',
    });
    await server.start();
    let connections = 0;
    const connect = async (): Promise<Channel> => {
      const isSilent = ++connections === 1;
      const ends = { own: (_: unknown) => {}, other: (_: unknown) => {} };
      server.serve({
        send: (reply) => queueMicrotask(() => ends.own(reply)),
        receive: ({ message }) => void (ends.other = message),
        close: () => {},
      });
      return {
        send: (request) => {
          const { ask } = request as FounderRequest;
          if (!isSilent || (ask === 'head' && silentFor === 'follow'))
            queueMicrotask(() => ends.other(request));
        },
        receive: ({ message }) => void (ends.own = message),
        close: () => {},
      };
    };
    const link = new ServedConfigLink('the founder', connect);
    const seen = new SeenHeadInMemory();
    const node = new MirroredConfigStore({ link, seen, clock, random: realRandom, log: silentLog });
    let isStarted = false;
    void node.start().then(() => (isStarted = true));
    await clock.run(10_000);
    assert.deepEqual([isStarted, connections], [true, 2]);
    await clock.until(node[Symbol.asyncDispose]());
  });
