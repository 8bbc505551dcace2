// The commands on a running node. Their verbs are loaded when one of them runs.
import type { Verb } from './remote/verb.ts';

export interface RemoteCommand {
  readonly doc: string;
  load(): Promise<readonly Verb[]>;
}

export const remoteCommands: Readonly<Record<string, RemoteCommand>> = {
  bucket: {
    doc: 'buckets of a running node: list, create, edit, flush, delete, compact',
    load: async () => (await import('./remote/bucket-verbs.ts')).bucketVerbs,
  },
  collection: {
    doc: 'scopes and collections of a bucket: list, create, edit, delete',
    load: async () => (await import('./remote/collection-verbs.ts')).collectionVerbs,
  },
  user: {
    doc: 'users of a running node: list, create, edit, delete',
    load: async () => (await import('./remote/user-verbs.ts')).userVerbs,
  },
  doc: {
    doc: 'documents of a collection: get, set, insert, delete, list',
    load: async () => (await import('./remote/doc-verbs.ts')).docVerbs,
  },
  import: {
    doc: 'documents of JSON lines, a JSON list or CSV into a collection: divan import BUCKET FILE',
    load: async () => (await import('./transfer/import-verbs.ts')).importVerbs,
  },
  export: {
    doc: 'documents of a collection as JSON lines, a JSON list or CSV: divan export BUCKET FILE',
    load: async () => (await import('./transfer/export-verbs.ts')).exportVerbs,
  },
  load: {
    doc: 'measures reads and writes of a running node: divan load BUCKET',
    load: async () => (await import('./load/load-verbs.ts')).loadVerbs,
  },
  sample: {
    doc: 'the sample bucket of tutorials, with collections and indexes: divan sample travel',
    load: async () => (await import('./sample/sample-verbs.ts')).sampleVerbs,
  },
  xdcr: {
    doc: 'replication to other clusters: list, connect, replicate, edit, pause, resume, delete, disconnect',
    load: async () => (await import('./remote/xdcr-verbs.ts')).xdcrVerbs,
  },
  metrics: {
    doc: 'what a running node measures, now or over time: divan metrics [NAME]',
    load: async () => (await import('./remote/observe-verbs.ts')).metricsVerbs,
  },
  logs: {
    doc: 'the log of a running node or cluster',
    load: async () => (await import('./remote/observe-verbs.ts')).logsVerbs,
  },
  doctor: {
    doc: 'what keeps a node from running well on this machine, and what to do',
    load: async () => (await import('./doctor/doctor-verbs.ts')).doctorVerbs,
  },
};
