import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { figures } from '../../../test/support/cluster.ts';
import { aManager } from '../../../test/support/manager.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import type { SystemFigures } from '../nodes/system.ts';
import { AlertList, diskQuietMs, quietMs } from './alert-list.ts';
import { type AlertLimits, defaultAlertLimits } from './alert-settings.ts';
import { AlertWatch, checkEveryMs } from './alert-watch.ts';
import type { PeerHealth } from './peer-checks.ts';

const mib = 1024 * 1024;
const full = { mountPoint: '/', totalBytes: 100, usedBytes: 95, freeBytes: 5 };
const roomy = { ...full, usedBytes: 10, freeBytes: 90 };

interface Machine {
  disk: SystemFigures['disk'];
  memory: { total: number; free: number };
}

function aWatch() {
  const clock = new ManualClock();
  const list = new AlertList(clock);
  const conditions = {
    machine: { disk: roomy, memory: { total: 100, free: 90 } } as Machine,
    bucket: figures() as MeasuredBucket,
    policy: 'noEviction',
    resolution: 'lww',
    peers: [] as PeerHealth[],
    limits: defaultAlertLimits as AlertLimits,
    hostname: null as string | null,
  };
  const raised: string[] = [];
  const noted: string[] = [];
  const watch = new AlertWatch({
    view: {
      liveBuckets: () =>
        [
          {
            uuid: 'u',
            name: 'b',
            ramQuotaMb: 100,
            evictionPolicy: conditions.policy,
            conflictResolutionType: conditions.resolution,
            driftAheadThresholdMs: 700,
          },
        ] as StoredBucket[],
      get self() {
        return { otpNode: 'ns_1@h', hostname: conditions.hostname } as never;
      },
    },
    peers: () => conditions.peers,
    data: { refresh: async () => {}, measured: () => conditions.bucket },
    system: { figures: async () => conditions.machine as SystemFigures },
    limits: async () => conditions.limits,
    nameProblem: async (name) => (name === 'moved' ? 'Could not listen on address "moved"' : null),
    noted: (alert) => noted.push(alert.key),
    raised: (kind) => raised.push(kind),
    list,
    clock,
    log: silentLog,
  });
  return { watch, conditions, clock, list, raised, noted };
}

describe('conditions that raise alerts', () => {
  it('are absent on a healthy node', async () => {
    const { watch, raised, list } = aWatch();
    await watch.check();
    assert.deepEqual([raised, list.all()], [[], []]);
  });

  it('include a full disk by the configured limit, repeated after twelve hours', async () => {
    const { watch, conditions, raised, noted, list, clock } = aWatch();
    conditions.machine.disk = full;
    conditions.limits = { ...defaultAlertLimits, maxDiskUsedPerc: 95 };
    await watch.check();
    assert.deepEqual(raised, []);
    conditions.limits = defaultAlertLimits;
    await watch.check();
    clock.advance(quietMs);
    await watch.check();
    assert.deepEqual(raised, ['disk']);
    assert.deepEqual(noted, ['disk /', 'disk /'], 'each check informs other nodes');
    assert.match(list.all()[0]?.text ?? '', /Usage of disk "\/" on node "h" is around 95%\.$/);
    clock.advance(diskQuietMs);
    await watch.check();
    assert.deepEqual(raised, ['disk', 'disk']);
  });

  it('include a bucket without eviction that refuses writes for lack of memory', async () => {
    const { watch, conditions, raised } = aWatch();
    conditions.policy = 'valueOnly';
    conditions.bucket = figures({ memoryRefusals: 1 });
    await watch.check();
    assert.deepEqual(raised, []);
    conditions.policy = 'noEviction';
    await watch.check();
    assert.deepEqual(raised, []);
    conditions.bucket = figures({ memoryRefusals: 2 });
    await watch.check();
    assert.deepEqual(raised, ['ep_oom_errors']);
  });

  it('include a failed commit, a bucket full of metadata, an unwritable audit trail and an unusable host name', async () => {
    const { watch, conditions, raised, clock } = aWatch();
    conditions.bucket = figures({ failedCommits: 1, metaBytes: 51 * mib });
    conditions.hostname = 'moved';
    watch.auditFailed();
    await watch.check();
    assert.deepEqual(raised, ['overhead', 'ep_item_commit_failed', 'audit_dropped_events', 'ip']);
    clock.advance(quietMs);
    await watch.check();
    assert.deepEqual(raised.slice(4), ['overhead', 'ip']);
  });

  it('include failed tasks of backups, one alert of a repository in ten minutes', async () => {
    const { watch, raised, list, clock } = aWatch();
    for (const repository of ['travel', 'travel', 'other'])
      watch.backupFailed(repository, `${repository} failed`);
    assert.deepEqual(raised, ['backup_task_failed', 'backup_task_failed']);
    assert.deepEqual(
      list.all().map(({ key, text }) => [key, text]),
      [
        ['backup travel', 'travel failed'],
        ['backup other', 'other failed'],
      ],
    );
    clock.advance(quietMs);
    watch.backupFailed('travel', 'travel failed again');
    assert.equal(raised.length, 3);
  });

  it('include writes too far ahead of the clock, in a bucket in which the last write wins', async () => {
    const { watch, conditions, raised, list, clock } = aWatch();
    conditions.resolution = 'seqno';
    conditions.bucket = figures({ writesAheadOfClock: 1 });
    await watch.check();
    conditions.resolution = 'lww';
    await watch.check();
    assert.deepEqual(raised, []);
    conditions.bucket = figures({ writesAheadOfClock: 2 });
    await watch.check();
    assert.deepEqual(raised, ['ep_clock_cas_drift_threshold_exceeded']);
    assert.match(
      list.all()[0]?.text ?? '',
      /bucket "b" on node "h" with timestamp more than 700 milliseconds/,
    );
    clock.advance(quietMs);
    await watch.check();
    assert.equal(raised.length, 1);
  });

  it('include other nodes that are out of reach for five minutes', async () => {
    const { watch, conditions, raised, list } = aWatch();
    const cutOff = (name: string, cutOffMs: number): PeerHealth => ({ name, skewMs: 0, cutOffMs });
    conditions.peers = [cutOff('ns_1@a', 299_999), cutOff('ns_1@b', 0)];
    await watch.check();
    assert.deepEqual(raised, []);
    conditions.peers = [cutOff('ns_1@a', 300_000), cutOff('ns_1@b', 400_000), cutOff('ns_1@c', 0)];
    await watch.check();
    assert.deepEqual(raised, ['communication_issue']);
    assert.match(list.all()[0]?.text ?? '', /Node "h" is having issues .* nodes "ns_1@a, ns_1@b"\.$/);
  });

  it('include a clock that differs from those of most other nodes', async () => {
    const { watch, conditions, raised } = aWatch();
    const ahead = (...skews: (number | null)[]) =>
      skews.map((skewMs, index): PeerHealth => ({ name: `ns_1@${index}`, skewMs, cutOffMs: 0 }));
    for (const peers of [ahead(null), ahead(5_000), ahead(6_000, 0), ahead(null, 100)]) {
      conditions.peers = peers;
      await watch.check();
    }
    assert.deepEqual(raised, []);
    conditions.peers = ahead(-6_000, 6_000, 0, null);
    await watch.check();
    assert.deepEqual(raised, ['time_out_of_sync']);
  });

  it("include the machine's memory, by the highest exceeded threshold", async () => {
    const { watch, conditions, list } = aWatch();
    const texts = async (free: number, limits: Partial<AlertLimits> = {}) => {
      conditions.machine.memory = { total: 100, free };
      conditions.limits = { ...defaultAlertLimits, ...limits };
      await watch.check();
      const found = list.all().map(({ text }) => text.slice(0, 6));
      list.silence(list.token);
      return found;
    };
    assert.deepEqual(await texts(11), []);
    assert.deepEqual(await texts(10), ['Warnin']);
    assert.deepEqual(await texts(5), ['CRITIC']);
    assert.deepEqual(await texts(50, { memoryNoticeThreshold: 50 }), ['Notice']);
    assert.deepEqual(await texts(4, { memoryCriticalThreshold: -1, memoryWarningThreshold: -1 }), []);
  });

  it('leave the list once acknowledged, and once their cause is absent', async () => {
    const { watch, conditions, list, clock } = aWatch();
    conditions.bucket = figures({ failedCommits: 1 });
    await watch.check();
    list.silence('another');
    assert.equal(list.all().length, 1);
    list.silence(list.token);
    assert.equal(list.all().length, 0);
    clock.advance(quietMs);
    conditions.bucket = figures({ failedCommits: 2 });
    await watch.check();
    assert.equal(list.all().length, 1);
    clock.advance(quietMs);
    await watch.check();
    assert.equal(list.all().length, 0);
  });
});

describe('the alerts of a node', () => {
  it('are listed, mailed, recorded as events, and silenced by their token', async (t) => {
    const mails: string[] = [];
    const mailer = {
      async send(_server: unknown, { subject }: { subject: string }) {
        mails.push(subject);
        return { sent: true, refused: [], unsupported: [] } as const;
      },
    };
    const { request, clock, manager } = await aManager({ mailer });
    t.after(() => manager.stop());
    const form = { enabled: 'true', recipients: 'a@b', alerts: 'disk', pop_up_alerts: 'overhead' };
    await request('/settings/alerts', { form });
    await request('/settings/alerts/limits', { form: { maxDiskUsedPerc: 1 } });
    assert.equal((await request('/settings/alerts/limits')).body.maxDiskUsedPerc, 1);
    clock.advance(checkEveryMs);
    await eventually(() => assert.deepEqual(mails, ['Divan alert: approaching full disk warning']));
    const { alerts, alertsSilenceURL } = (await request('/pools/default')).body;
    assert.deepEqual([alerts.length, alerts[0].disableUIPopUp], [1, true]);
    assert.match(alerts[0].msg, /^Approaching full disk warning/);
    const { events } = (await request('/events')).body;
    assert.equal(events.filter(({ event_id }: { event_id: number }) => event_id === 1003).length, 1);
    assert.equal((await request(alertsSilenceURL, { method: 'POST' })).status, 200);
    assert.deepEqual((await request('/pools/default')).body.alerts, []);
  });

  it('have limits that accept only percentages', async (t) => {
    const { request, manager } = await aManager();
    t.after(() => manager.stop());
    const wrong = { maxDiskUsedPerc: 101, memoryNoticeThreshold: -2, other: 1 };
    const { status, body } = await request('/settings/alerts/limits', { form: wrong });
    assert.deepEqual([status, Object.keys(body.errors)], [400, Object.keys(wrong)]);
    assert.deepEqual((await request('/settings/alerts/limits')).body, defaultAlertLimits);
  });

  it('write nothing when they are only validated', async (t) => {
    const { request, manager, store } = await aManager();
    t.after(() => manager.stop());
    const before = store.revision();
    const form = { maxDiskUsedPerc: 80 };
    const answer = await request('/settings/alerts/limits?just_validate=1', { form });
    assert.equal(answer.status, 200);
    assert.equal(store.revision(), before);
  });
});
