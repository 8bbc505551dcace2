// A process with an index service, for tests that kill it: `node index-child.ts PORT FOLDER DEFINITIONS`. It prints `follows` once the
// service has applied the definitions.
import { IndexService } from '#index/service/index-service.ts';
import { IndexFolder } from '#index/store/index-folder.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { compileSimply } from './simple-index-language.ts';
import { addressOf, adminAccount } from './wire-clients.ts';

const [port, folder, definitions] = process.argv.slice(2) as [string, string, string];
const service = new IndexService({
  address: addressOf(Number(port)),
  account: adminAccount,
  store: new IndexFolder(folder, silentLog),
  compile: compileSimply,
  clock: realClock,
  random: realRandom,
  log: silentLog,
  changed: () => {},
});
await service.apply({
  indexes: (JSON.parse(definitions) as IndexDefinition[]).map((definition) => ({
    definition,
    isBuilt: true,
  })),
  // The smallest quota: a build then stages its rows in several commits.
  memoryQuotaBytes: 1,
  place: null,
});
process.stdout.write('follows\n');
