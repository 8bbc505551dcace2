// `divan cloud`: starts the management API from its options, and stops it.
import { flushCompileCache } from 'node:module';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { ApiError } from '#cloud/answers/api-error.ts';
import { type Cloud, startCloud } from '#cloud/cloud.ts';
import { LocalProvisioner, operatorAddressHere } from '#cloud/provisioner/local/local-provisioner.host.ts';
import { commonHomeOf } from '#cloud/provisioner/local/owner.host.ts';
import { realClock } from '#ports/clock.ts';
import type { DiskReserve } from '#ports/disk-reserve.ts';
import type { FolderLock } from '#ports/folder-lock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import type { CloudOptionValues } from './cloud-options.ts';
import type { DataFolder } from './data-folder.ts';
import { DiskReserveFile } from './disk-reserve-file.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { jsonLog } from './log.adapter.ts';
import { applyConfig } from './operator/cloud-config.ts';
import { type CloudStorage, openStorage } from './operator/cloud-storage.ts';
import { checkReadyFile, type ReadyFile, writeReadyFile } from './ready.ts';
import { release } from './release.ts';
import type { Shutdown } from './signals.ts';
import { StartError, untilListening } from './start-error.ts';

const mb = 1024 * 1024;
const predecessorTimeoutMs = 15_000;
const lockEveryMs = 50;

export async function runCloud(given: CloudOptionValues, shutdown: Shutdown): Promise<void> {
  // A process with a channel to its parent stops when the parent ends.
  if (process.channel !== undefined) process.on('disconnect', () => shutdown.request());
  await shutdown.whileStarting(() => startCloudProcess(given, shutdown));
}

async function startCloudProcess(given: CloudOptionValues, shutdown: Shutdown): Promise<void> {
  const options = { ...given, 'data-dir': resolve(given['data-dir']) };
  const log = jsonLog(options['log-level']);
  if (options['ready-file'] !== undefined) checkReadyFile(options['ready-file'], options['data-dir']);
  const reserve = new DiskReserveFile(options['data-dir'], realClock);
  reserve.useForStart();
  const storage = await openStorage(options, log);
  const held = await lock(options['data-dir']);
  if (options.config !== undefined) await applyConfig(options.config, storage);
  const provisioner = provisionerOf(storage.folder, log);
  // The start resumes nodes, which may take long: a signal then ends those that run already.
  shutdown.stopWith(async () => {
    await provisioner.close();
    held.release();
  });
  const cloud = await assemble(options, storage, { provisioner, log, diskReserve: reserve }).catch(explain);
  const end = async (): Promise<void> => {
    reserve.stop();
    await cloud.stop();
    held.release();
  };
  shutdown.stopWith(end);
  const api = await listen(cloud, options).catch(async (error: Error) => {
    await end();
    throw error;
  });
  const ready: ReadyFile = { cloud: { api, ...credentials(cloud) } };
  if (options['ready-file'] !== undefined) writeReadyFile(options['ready-file'], ready);
  // Sending fails if the parent has just ended; its disconnect stops this process.
  if (process.connected) process.send?.(ready, undefined, undefined, () => {});
  process.stdout.write(summary(api, cloud, options));
  reserve.refill();
  releaseMemoryWhenIdle();
  // Node writes its compile cache at a regular exit only: after a kill the next start would compile everything again.
  flushCompileCache();
}

/** A process with a parent waits for its predecessor to stop, whose parent was killed. */
async function lock(folder: string): Promise<FolderLock> {
  const deadlineMs = realClock.monotonicMs() + (process.channel === undefined ? 0 : predecessorTimeoutMs);
  for (;;) {
    try {
      return lockDataFolder(folder);
    } catch (error) {
      if (realClock.monotonicMs() >= deadlineMs) throw error;
      await realClock.sleep(lockEveryMs);
    }
  }
}

const listen = ({ api }: Cloud, { host, port }: CloudOptionValues): Promise<string> =>
  untilListening('port', host, port, api.listen({ host, port }));

/** Runs the nodes of the cloud in its data folder. A folder without an id takes that of its nodes, so that they stay its own. */
function provisionerOf(folder: DataFolder, log: Log): LocalProvisioner {
  const nodesFolder = join(folder.path, 'nodes');
  return new LocalProvisioner({
    clock: realClock,
    random: realRandom,
    log,
    folder: nodesFolder,
    home: folder.id(() => commonHomeOf(nodesFolder)),
    operatorAddress: operatorAddressHere(),
  });
}

interface CloudParts {
  readonly provisioner: LocalProvisioner;
  readonly log: Log;
  readonly diskReserve: DiskReserve;
}

async function assemble(
  options: CloudOptionValues,
  { folder, store, state, secrets }: CloudStorage,
  { provisioner, log, diskReserve }: CloudParts,
): Promise<Cloud> {
  return startCloud({
    clock: realClock,
    random: realRandom,
    log,
    diskReserve,
    store,
    state,
    secrets,
    provisioner,
    home: folder.id(),
    operatorAddress: operatorAddressHere(),
    capacityMb: options.capacity ?? Math.floor(totalmem() / mb / 2),
    sizeScale: options['size-scale'],
    requestsPerSecond: options['rate-limit'],
    publicUrl: options['public-url'],
    version: release,
  });
}

/** Errors with a text for clients are printed without a stack. */
function explain(error: unknown): never {
  throw error instanceof ApiError ? new StartError(error.message, { cause: error }) : error;
}

const credentials = ({ startToken: { token, accessKey, secretKey } }: Cloud) => ({
  token,
  accessKey,
  secretKey,
});

function summary(api: string, cloud: Cloud, options: CloudOptionValues): string {
  const lines = [
    `Divan cloud ${release} is ready (${Math.round(performance.now())} ms)`,
    `  API      ${api}`,
    `  pages    ${api}/  ${api}/docs/api`,
    `  folder   ${options['data-dir']}`,
    `  token    ${cloud.startToken.token}`,
  ];
  return `${lines.join('\n')}\n`;
}
