// Creates all that records and shows the events of a node: their journals, their sources and their routes.
//
//   const events = createEvents({ journal, view, data, identityOf, clock, random, log });
//   events.start({ version });                      // the node started; buckets are watched from here
//   createHttpServer({ hooks: { audit: events.audit, … }, routes: [...events.routes, …], … });
//   events.log.record('mail_lost', { … });          // from any component
//   events.stop();
import type { BoundRoute } from '#contract/route.ts';
import { AuditTrail, type AuditTrailDeps } from './audit-trail.ts';
import { BucketWatch, type BucketWatchDeps } from './bucket-watch.ts';
import { Denials } from './denials.ts';
import type { JournalName } from './event-kinds.ts';
import { EventLog, type EventLogDeps } from './event-log.ts';
import { eventRoutes } from './events.routes.ts';
import type { Journal, JournalBounds } from './journal.ts';
import { NodesEvents, type NodesEventsDeps } from './nodes-events.ts';
import { PromotedElsewhere, type PromotedElsewhereDeps } from './promoted-elsewhere.ts';

/** Opens a journal of that name without reading or writing. */
export type OpenJournal = (name: JournalName, bounds: JournalBounds) => Journal;

export interface Events {
  readonly log: EventLog;
  readonly audit: AuditTrail;
  readonly routes: readonly BoundRoute[];
  start(node: { version: string }): void;
  stop(): void;
}

export type EventsOptions = Omit<EventLogDeps, 'journals' | 'node'> &
  Pick<NodesEventsDeps, 'nodes' | 'nodeId' | 'peers'> &
  Omit<BucketWatchDeps, 'events' | 'view'> &
  Pick<PromotedElsewhereDeps, 'clock'> &
  Pick<AuditTrailDeps, 'identityOf' | 'auditLog'> & {
    view: BucketWatchDeps['view'] &
      PromotedElsewhereDeps['view'] & { self: { otpNode: string; hostname?: string | null } };
    journal: OpenJournal;
  };

const mebibyte = 1 << 20;

export function createEvents(options: EventsOptions): Events {
  const { journal, view, clock } = options;
  const journals = {
    events: journal('events', { segmentBytes: mebibyte, segments: 8 }),
    refusals: journal('refusals', { segmentBytes: mebibyte, segments: 2 }),
  };
  const log = new EventLog({ ...options, journals, node: () => nodeOf(view.self) });
  const denials = new Denials({ clock, record: (name, attributes) => log.record(name, attributes) });
  let started = false;
  const bucketWatch = new BucketWatch({ ...options, events: log });
  const promotedElsewhere = new PromotedElsewhere({ ...options, events: log });
  return {
    log,
    audit: new AuditTrail({ ...options, events: log, denials }),
    routes: eventRoutes(log, new NodesEvents({ ...options, events: log })),
    start({ version }) {
      started = true;
      log.record('node_started', { version });
      bucketWatch.start();
      promotedElsewhere.start();
    },
    stop() {
      bucketWatch.stop();
      promotedElsewhere.stop();
      denials.flush();
      if (started) log.record('node_stopped');
      log.close();
    },
  };
}

const nodeOf = ({ otpNode, hostname }: EventsOptions['view']['self']) => ({
  otpNode,
  hostname: hostname ?? (otpNode.split('@')[1] as string),
});
