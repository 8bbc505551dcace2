// ADVISOR({"action": …}): starts, lists and ends sessions, and reports the advice for what they collected.
import { sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { taskRow } from '../catalog/task-rows.ts';
import { parseDuration } from '../request/duration.ts';
import {
  type AdvisorSession,
  type SessionOptions,
  sessionsMax,
  statementsMax,
} from '../state/advisor-sessions.ts';
import type { QueryParts } from '../state/parts.ts';

type Given = Readonly<Record<string, unknown>>;

const members = new Set(['action', 'profile', 'response', 'duration', 'query_count', 'status', 'session']);
/** A week: the timer of a session must fit the clock. */
const durationMaxMs = 7 * 86_400_000;

/** The answer, or the session whose advice is the answer. The caller has checked the right to the catalog. */
export function answerSessionCall(service: QueryParts, given: Given): object | AdvisorSession {
  const unknown = Object.keys(given).filter((name) => !members.has(name.toLowerCase()));
  if (unknown.length > 0) throw sqlErrorWith(10503, { cause: { args: unknown } });
  const lower = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  const { action } = lower;
  if (action === undefined) throw sqlError(10502);
  switch (String(action).toLowerCase()) {
    case 'start':
      return start(service, lower);
    case 'list':
      return list(service, lower);
    case 'get':
      return sessionOf(service, lower);
    case 'stop':
      sessionOf(service, lower).end('cancelled');
      return [];
    case 'purge':
    case 'abort':
      service.advisorSessions.remove(sessionOf(service, lower).name);
      return [];
    default:
      throw sqlErrorWith(10501, { cause: { invalid_action: String(action) } });
  }
}

function start({ advisorSessions, deps }: QueryParts, given: Given): object {
  const session = advisorSessions.start(optionsOf(given, deps.settings.completedLimit));
  if (session === null) throw sqlError(5010, `ADVISOR(): ${sessionsMax} sessions run, stop one of them`);
  return { session: session.name };
}

function optionsOf(given: Given, countDefault: number): SessionOptions {
  const { profile, response = '0s', duration, query_count: count = countDefault } = given;
  if (profile !== undefined && typeof profile !== 'string') throw invalid('profile', 'the name of a user');
  const durationMs = millisecondsOf(duration);
  if (durationMs === null || durationMs < 1 || durationMs > durationMaxMs)
    throw invalid('duration', 'a duration from 1ms to 168h, such as "10m"');
  const responseMs = millisecondsOf(response);
  if (responseMs === null || responseMs < 0) throw invalid('response', 'a duration such as "3s"');
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0)
    throw invalid('query_count', 'a number of statements');
  return { durationMs, responseMs, user: profile || null, queryCount: Math.min(count, statementsMax) };
}

const millisecondsOf = (value: unknown): number | null =>
  typeof value === 'string' ? parseDuration(value) : null;

function list(service: QueryParts, { status = 'all' }: Given): object {
  const wanted = String(status).toLowerCase();
  if (!['all', 'active', 'completed'].includes(wanted)) throw invalid('status', 'all, active or completed');
  const isWanted = ({ state }: AdvisorSession): boolean =>
    wanted === 'all' || state === (wanted === 'active' ? 'scheduled' : 'completed');
  return service.advisorSessions
    .all()
    .filter(isWanted)
    .map((session) => ({ tasks_cache: taskRow(service, session).value }));
}

function sessionOf({ advisorSessions }: QueryParts, { session: name }: Given): AdvisorSession {
  if (typeof name !== 'string') throw invalid('session', 'the name of a session');
  const session = advisorSessions.find(name);
  if (session === undefined) throw sqlErrorWith(10500, { cause: { unknown_session: name } });
  return session;
}

const invalid = (name: string, wanted: string): Error =>
  sqlError(5010, `ADVISOR() not valid argument for '${name}': it must be ${wanted}`);
