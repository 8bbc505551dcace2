// How a connection of a simulation ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Link } from '#kv/replication/link.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedLinks } from './simulated-links.ts';

async function connected(clock: SimulatedClock, links: SimulatedLinks) {
  const ends: string[] = [];
  const host = links.host('b');
  const accepted = Promise.withResolvers<Link>();
  host.accepted = accepted.resolve;
  await host.listen('b', 1);
  const connecting = links.host('a').connect({ node: 'b', host: 'b', port: 1 });
  await clock.run(10);
  const [near, far] = [await connecting, await accepted.promise];
  far.receive({ data: () => {}, closed: (reason) => ends.push(reason) });
  return { near, ends };
}

test('the other node notices a closed connection at once, or within 300 ms if the message about the end is lost', async () => {
  for (const isCut of [false, true]) {
    const clock = new SimulatedClock();
    const links = new SimulatedLinks(clock, () => 0);
    const { near, ends } = await connected(clock, links);
    if (isCut) links.cut('a', 'b');
    near.close('done');
    await clock.run(100);
    assert.deepEqual(ends, isCut ? [] : ['closed by the other node']);
    await clock.run(1_000);
    assert.deepEqual(ends, isCut ? ['lost'] : ['closed by the other node']);
  }
});
