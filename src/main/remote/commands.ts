// The commands on a running node. Their verbs are loaded when one of them runs.
import type { Verb } from './verb.ts';

export interface RemoteCommand {
  readonly doc: string;
  load(): Promise<readonly Verb[]>;
}

export const remoteCommands: Readonly<Record<string, RemoteCommand>> = {
  bucket: {
    doc: 'buckets of a running node: list, create, edit, flush, delete, compact',
    load: async () => (await import('./bucket-verbs.ts')).bucketVerbs,
  },
  collection: {
    doc: 'scopes and collections of a bucket: list, create, edit, delete',
    load: async () => (await import('./collection-verbs.ts')).collectionVerbs,
  },
  user: {
    doc: 'users of a running node: list, create, edit, delete',
    load: async () => (await import('./user-verbs.ts')).userVerbs,
  },
  doc: {
    doc: 'documents of a collection: get, set, insert, delete, list',
    load: async () => (await import('./doc-verbs.ts')).docVerbs,
  },
  metrics: {
    doc: 'what a running node measures, now or over time: divan metrics [NAME]',
    load: async () => (await import('./observe-verbs.ts')).metricsVerbs,
  },
  logs: {
    doc: 'the log of a running node or cluster',
    load: async () => (await import('./observe-verbs.ts')).logsVerbs,
  },
};
