// Checks of `divan doctor` about the clock: of this machine, and against another node of the cluster.
import { existsSync } from 'node:fs';
import { connectionProblem } from '#client/connection-problem.ts';
import { realClock } from '#ports/clock.ts';
import { http, https } from '#ports/node-http.ts';
import { type Finding, good, problem, warning } from './finding.ts';

/** A clock that shows an earlier time is wrong. */
const earliestMs = Date.UTC(2025, 0, 1);
/** The largest difference between the clocks of two nodes that is no problem. */
const apartMs = 5_000;
const timeoutMs = 30_000;
const timesync = '/run/systemd/timesync';

export async function checkClock(peer: string | undefined): Promise<Finding[]> {
  const now = new Date(realClock.wallMs());
  const advice = 'set it, and let a service such as systemd-timesyncd or chrony keep it';
  const own =
    now.getTime() < earliestMs
      ? problem('clock', `it shows ${now.toISOString()}: certificates and expiries would be wrong`, advice)
      : good('clock', now.toISOString());
  const syncWarnings =
    existsSync(timesync) && !existsSync(`${timesync}/synchronized`)
      ? [warning('clock', 'no time server has set it since the start of the machine', advice)]
      : [];
  return [own, ...syncWarnings, ...(peer === undefined ? [] : [await compare(peer)])];
}

/** Compares the clocks by the smallest difference that is possible, because the header Date has whole seconds. */
async function compare(peer: string): Promise<Finding> {
  try {
    const sentMs = realClock.wallMs();
    const shown = await dateOf(peer);
    const receivedMs = realClock.wallMs();
    // The date was read at some moment in between, and its second had begun.
    const apart = Math.max(0, sentMs - shown - 1_000, shown - receivedMs);
    const text = `${(apart / 1_000).toFixed(1)} s from that of ${peer}`;
    if (apart <= apartMs) return good('clock', text);
    return problem('clock', text, 'nodes of a cluster need the same time: set the clocks by one time server');
  } catch (error) {
    return problem(
      'clock',
      `cannot ask ${peer}: ${connectionProblem(error)}`,
      'give the address of a node that runs: --peer URL',
    );
  }
}

function dateOf(peer: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const url = new URL('/pools', peer);
  // The time of the other node is no secret, and doctor has no option for the authority of its certificate.
  const options = { timeout: timeoutMs, agent: false, rejectUnauthorized: false };
  const request = (url.protocol === 'https:' ? https : http).get(url, options, (response) => {
    response.resume();
    const date = Date.parse(response.headers.date ?? '');
    if (Number.isNaN(date)) reject(new Error('its answer has no date'));
    else resolve(date);
  });
  request.on('timeout', () => request.destroy(new Error(`no answer in ${timeoutMs / 1_000} s`)));
  request.on('error', reject);
  return promise;
}
