import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { AdvisorSessions, type EndedStatement, sessionsMax } from './advisor-sessions.ts';

const options = { durationMs: 60_000, responseMs: 0, user: null, queryCount: 100 };

function ended(parts: Partial<EndedStatement> = {}): EndedStatement {
  return { text: 'SELECT 1', queryContext: '', users: ['ann'], elapsedMs: 5, ...parts };
}

function someSessions() {
  const clock = new ManualClock();
  return { clock, sessions: new AdvisorSessions(clock, realRandom) };
}

test('a session counts the runs of each statement in each query context until its time is over', () => {
  const { clock, sessions } = someSessions();
  assert.equal(sessions.areCollecting, false);
  const session = sessions.start(options);
  assert.ok(session && sessions.areCollecting);
  for (const queryContext of ['', '', 'b.s']) sessions.add(ended({ queryContext }));
  clock.advance(options.durationMs);
  sessions.add(ended());
  assert.deepEqual(session.statements(), [
    { statement: 'SELECT 1', run_count: 2 },
    { statement: 'SELECT 1', run_count: 1, query_context: 'b.s' },
  ]);
  assert.deepEqual([session.state, sessions.areCollecting], ['completed', false]);
});

test('a session records the statements of its user that took longer than its threshold', () => {
  const { sessions } = someSessions();
  const session = sessions.start({ ...options, user: 'ann', responseMs: 10 });
  sessions.add(ended({ text: 'SELECT 1', elapsedMs: 10 }));
  sessions.add(ended({ text: 'SELECT 2', elapsedMs: 11 }));
  sessions.add(ended({ text: 'SELECT 3', elapsedMs: 11, users: ['joann'] }));
  sessions.add(ended({ text: 'SELECT 4', elapsedMs: 11, users: ['external:ann'] }));
  assert.deepEqual(
    session?.statements().map(({ statement }) => statement),
    ['SELECT 2', 'SELECT 4'],
  );
});

test('a session collects a limited number of runs and bytes', () => {
  const { sessions } = someSessions();
  const [few, many] = [sessions.start({ ...options, queryCount: 3 }), sessions.start(options)];
  for (let at = 0; at < 5; at++) sessions.add(ended({ text: `SELECT ${at}` }));
  sessions.add(ended({ text: `SELECT "${'x'.repeat(2 << 20)}"` }));
  sessions.add(ended({ queryContext: `\`${'x'.repeat(2 << 20)}\`.s` }));
  assert.deepEqual([few?.statements().length, many?.statements().length], [3, 5]);
});

test('a session that has all its runs collects nothing more', () => {
  const { sessions } = someSessions();
  sessions.start({ ...options, queryCount: 1 });
  assert.equal(sessions.areCollecting, true);
  sessions.add(ended());
  assert.equal(sessions.areCollecting, false);
});

test('a new session replaces an ended one, and is refused while all sessions run', () => {
  const { sessions } = someSessions();
  const all = Array.from({ length: sessionsMax }, () => sessions.start(options));
  assert.equal(sessions.start(options), null);
  all[3]?.end('cancelled');
  assert.ok(sessions.start(options));
  assert.equal(sessions.find(all[3]?.name ?? ''), undefined);
  assert.equal(sessions.all().length, sessionsMax);
  const [first] = all;
  assert.equal(sessions.remove(first?.name.toUpperCase() ?? ''), true);
  assert.equal(sessions.find(first?.name ?? ''), undefined);
});

test('no timer remains of sessions that end early', () => {
  const { clock, sessions } = someSessions();
  const [first] = [sessions.start(options), sessions.start(options)];
  sessions.remove(first?.name ?? '');
  sessions.stop();
  assert.equal(clock.pending, 0);
});
