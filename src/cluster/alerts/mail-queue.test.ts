import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { firstPauseMs, longestPauseMs, MailQueue, retriedForMs, waitingMax } from './mail-queue.ts';
import type { MailOutcome } from './mailer.ts';

const sentOutcome: MailOutcome = { sent: true, refused: [], unsupported: [] };
const unreachable = { sent: false, reason: 'econnrefused', permanent: false } as const;
const unknownUser: MailOutcome = { sent: false, reason: '550 no such user', permanent: true };
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

function aQueue(answer: (mail: string) => MailOutcome | Promise<MailOutcome>) {
  const clock = new ManualClock();
  const tried: string[] = [];
  const lost: [string, string][] = [];
  const queue = new MailQueue<string>({
    clock,
    log: silentLog,
    deliver: async (mail) => {
      tried.push(mail);
      return await answer(mail);
    },
    lost: (mail, reason) => lost.push([mail, reason]),
  });
  return { clock, queue, tried, lost };
}

describe('the queue of mails', () => {
  it('sends one after the other, in order', async () => {
    const { queue, tried } = aQueue(() => sentOutcome);
    for (const mail of ['a', 'b', 'c']) queue.add(mail);
    await nextTurn();
    queue.add('d');
    await nextTurn();
    assert.deepEqual([tried, queue.size], [['a', 'b', 'c', 'd'], 0]);
  });

  it('retries with growing pauses up to a maximum while the server is unreachable', async () => {
    const { clock, queue, tried } = aQueue(() => unreachable);
    queue.add('a');
    await nextTurn();
    for (let pause = firstPauseMs, tries = 1; pause < longestPauseMs; pause *= 2, tries++) {
      clock.advance(pause - 1);
      await nextTurn();
      assert.equal(tried.length, tries);
      clock.advance(1);
      await nextTurn();
      assert.equal(tried.length, tries + 1);
    }
    clock.advance(longestPauseMs);
    await nextTurn();
    const before = tried.length;
    clock.advance(longestPauseMs);
    await nextTurn();
    assert.equal(tried.length, before + 1);
  });

  it('retries at once when it is asked to', async () => {
    let outcome: MailOutcome = unreachable;
    const { clock, queue, tried } = aQueue(() => outcome);
    queue.add('a');
    await nextTurn();
    clock.advance(firstPauseMs);
    await nextTurn();
    outcome = sentOutcome;
    queue.retry();
    await nextTurn();
    assert.deepEqual([tried.length, queue.size], [3, 0]);
  });

  it('discards a mail after a permanent failure, and continues with the next mail', async () => {
    const { queue, tried, lost } = aQueue((mail) => (mail === 'a' ? unknownUser : sentOutcome));
    queue.add('a');
    queue.add('b');
    await nextTurn();
    assert.deepEqual(tried, ['a', 'b']);
    assert.deepEqual(lost, [['a', '550 no such user']]);
  });

  it('drops a mail after a day', async () => {
    const { clock, queue, lost } = aQueue(() => unreachable);
    queue.add('a');
    await nextTurn();
    for (let passed = 0; passed <= retriedForMs; passed += longestPauseMs) {
      clock.advance(longestPauseMs);
      await nextTurn();
    }
    assert.deepEqual([lost, queue.size], [[['a', 'econnrefused']], 0]);
  });

  it('keeps a bounded number of the newest mails besides the one being sent', async () => {
    const answers = Promise.withResolvers<MailOutcome>();
    const { queue, lost } = aQueue(() => answers.promise);
    for (let number = 0; number <= waitingMax; number++) queue.add(`${number}`);
    assert.deepEqual([queue.size, lost], [waitingMax, [['1', 'too many mails are queued']]]);
    answers.resolve(sentOutcome);
    await nextTurn();
    await nextTurn();
    assert.equal(queue.size, 0);
  });

  it('treats a delivery that throws as failed', async () => {
    const { clock, queue } = aQueue(() => {
      throw new Error('settings cannot be read');
    });
    queue.add('a');
    await nextTurn();
    assert.deepEqual([queue.size, clock.pending], [1, 1]);
  });

  it('leaves nothing running when it stops', async () => {
    const { clock, queue, tried } = aQueue(() => unreachable);
    queue.add('a');
    await nextTurn();
    await queue.stop();
    queue.add('b');
    clock.advance(longestPauseMs);
    await nextTurn();
    assert.deepEqual(tried, ['a']);
  });
});
