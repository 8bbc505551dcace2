// A restore as a process of its own that records its progress after every vbucket, so that a test can kill it while it does so:
// `restore-with-progress.ts FOLDER URL MAP`, with the password in DIVAN_PASSWORD.
import { BackupNode } from '#backup/node/backup-node.ts';
import { runRestore } from '#backup/restore/run-restore.adapter.ts';
import { advancingClock } from './advancing-clock.ts';

const [folder = '', url = '', map = ''] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const password = process.env['DIVAN_PASSWORD'] ?? '';
await runRestore(
  {
    folder,
    buckets: [],
    map: [map],
    replaces: false,
    isForced: false,
    createsBuckets: true,
    withIndexes: false,
    resumes: false,
    awaitsDisk: false,
  },
  {
    node: new BackupNode({ host: hostname, port: Number(port), username: 'Administrator', password }),
    // By this clock, progress is due after every vbucket.
    clock: advancingClock(),
    signal: new AbortController().signal,
    progress: () => {},
  },
);
