// `divan cloud`: from options to a management API that is ready, and to its end.
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { type Cloud, startCloud } from '#cloud/cloud.ts';
import { LocalProvisioner, operatorAddressHere } from '#cloud/provisioner/local/local-provisioner.host.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { CloudOptionValues } from './cloud-options.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { pinoLog } from './log.adapter.ts';
import { applyConfig } from './operator/cloud-config.ts';
import { type CloudPlace, openPlace } from './operator/cloud-place.ts';
import { type ReadyFile, writeReadyFile } from './ready.ts';
import { release } from './release.ts';
import { stopOnSignals } from './signals.ts';

const mb = 1024 * 1024;

export async function runCloud(given: CloudOptionValues): Promise<void> {
  const options = { ...given, 'data-dir': resolve(given['data-dir']) };
  const log = pinoLog(options['log-level']);
  const place = await openPlace(options, log);
  const held = lockDataFolder(options['data-dir']);
  if (options.config !== undefined) await applyConfig(options.config, place);
  const cloud = await assemble(options, place, log);
  stopOnSignals(async () => {
    await cloud.stop();
    held.release();
  });
  const api = await cloud.api.listen({ host: options.host, port: options.port });
  const ready: ReadyFile = { cloud: { api, ...credentials(cloud) } };
  if (options['ready-file'] !== undefined) writeReadyFile(options['ready-file'], ready);
  process.stdout.write(summary(api, cloud, options));
}

async function assemble(
  options: CloudOptionValues,
  { folder, store, secrets }: CloudPlace,
  log: Log,
): Promise<Cloud> {
  const operatorAddress = operatorAddressHere();
  const home = folder.id();
  const ports = { clock: realClock, random: realRandom, log };
  return startCloud({
    ...ports,
    store,
    secrets,
    provisioner: new LocalProvisioner({
      ...ports,
      folder: join(folder.path, 'nodes'),
      home,
      operatorAddress,
    }),
    home,
    operatorAddress,
    capacityMb: options.capacity ?? Math.floor(totalmem() / mb / 2),
    sizeScale: options['size-scale'],
    requestsPerSecond: options['rate-limit'],
    version: release,
  });
}

const credentials = ({ startToken: { token, accessKey, secretKey } }: Cloud) => ({
  token,
  accessKey,
  secretKey,
});

function summary(api: string, cloud: Cloud, options: CloudOptionValues): string {
  const lines = [
    `Divan cloud ${release} is ready after ${Math.round(performance.now())} ms`,
    `  API     ${api}`,
    `  token   ${cloud.startToken.token}`,
    `  data    ${options['data-dir']}`,
  ];
  return `${lines.join('\n')}\n`;
}
