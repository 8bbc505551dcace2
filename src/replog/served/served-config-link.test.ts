import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordFeed } from '../mirror/config-link.ts';
import type { Channel, FounderReply, FounderRequest } from './channel.ts';
import { ServedConfigLink } from './served-config-link.ts';

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
