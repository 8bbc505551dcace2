// A data service in this thread for tests, on a disk in memory, with configurable users and buckets.
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { fullGrants } from '#auth/grants.ts';
import { realKdf } from '#auth/kdf.host.ts';
import type { Grants, ScramVerifier, UserSpec } from '#auth/privileges.ts';
import type { BucketSpec, KvDesired } from '#kv/admin.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { DataService, type DataServiceOptions } from '#kv/host/data-service.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { usualFeatures } from './client-features.ts';
import { KvConnection } from './kv-connection.ts';

const iterations = 10;

export function aUser(name: string, password: string, grants: Grants = fullGrants()): UserSpec {
  const scram = {
    sha1: verifier('sha1', password),
    sha256: verifier('sha256', password),
    sha512: verifier('sha512', password),
  };
  return { name, credentialId: createHash('sha1').update(password).digest('hex'), scram, grants };
}

function verifier(hash: 'sha1' | 'sha256' | 'sha512', password: string): ScramVerifier {
  const salt = Buffer.from(`salt of ${hash}`);
  const bytes = createHash(hash).digest().length;
  const salted = pbkdf2Sync(password, salt, iterations, bytes, hash);
  const mac = (text: string) => createHmac(hash, salted).update(text).digest();
  const storedKey = createHash(hash).update(mac('Client Key')).digest();
  const serverKey = mac('Server Key');
  return {
    salt: salt.toString('base64'),
    iterations,
    storedKey: storedKey.toString('base64'),
    serverKey: serverKey.toString('base64'),
  };
}

export function aBucket(name: string, changes: Partial<BucketSpec> = {}): BucketSpec {
  const config = { rev: 1, revEpoch: 1, name, nodeLocator: 'vbucket' };
  return {
    name,
    uuid: createHash('md5').update(name).digest('hex'),
    incarnation: 1,
    type: 'native',
    quotaBytes: 256 * 1024 * 1024,
    replicaNumber: 0,
    evictionPolicy: 'valueOnly',
    threadsNumber: 3,
    durabilityMinLevel: 'none',
    maxTtl: 0,
    compressionMode: 'passive',
    conflictResolution: 'seqno',
    clockDriftMs: { ahead: 5000, behind: 5000 },
    manifest: {
      uid: '2',
      scopes: [
        { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
        {
          name: 'shop',
          uid: '8',
          collections: [
            { name: 'orders', uid: '8' },
            { name: 'carts', uid: '9' },
          ],
        },
        { name: '_system', uid: '9', collections: [{ name: '_mobile', uid: 'a' }] },
      ],
    },
    clusterConfig: { revEpoch: 1, rev: 1, json: JSON.stringify(config) },
    ...changes,
  };
}

export const aDesired = (changes: Partial<KvDesired> = {}): KvDesired => ({
  buckets: [aBucket('b')],
  deletedBuckets: [],
  users: [aUser('admin', 'password')],
  clusterConfig: null,
  tls: null,
  ...changes,
});

export interface TestService extends AsyncDisposable {
  service: DataService;
  port: number;
  tlsPort: number;
  disk: MemoryDisk;
  /** A connection, to be closed with the service. */
  connect(): Promise<KvConnection>;
  /** A logged-in connection on bucket `b` with the usual features. */
  ready(options?: { user?: string; features?: readonly number[] }): Promise<KvConnection>;
}

/** Framing of a write with durability level 3, persistToMajority, and the default time limit. */
export const persistToMajority = Buffer.from([0x11, 3]);

export async function startService(
  desired: KvDesired = aDesired(),
  {
    dataDir = '/data',
    host = '127.0.0.1',
    loginSecret,
    beforeApply = async () => {},
    ...options
  }: Partial<DataServiceOptions> & {
    dataDir?: string;
    host?: string;
    loginSecret?: Uint8Array;
    /** Called with the port before the service knows any user. */
    beforeApply?: (port: number) => Promise<void>;
  } = {},
): Promise<TestService> {
  const disk = new MemoryDisk();
  const service = new DataService({
    clock: realClock,
    random: realRandom,
    log: silentLog,
    kdf: realKdf,
    disk: disk.engine(),
    // Independent of the machine's limit.
    handles: { data: 65_000, rest: 8_192 },
    ...options,
  });
  const ports = await service.start({
    dataDir,
    host,
    port: 0,
    tlsPort: 0,
    version: '7.1.0-test',
    logLevel: 'silent',
    ...(loginSecret && { loginSecret }),
  });
  await beforeApply(ports.port);
  await service.apply(desired);
  const open: KvConnection[] = [];
  const connect = async () => {
    const connection = await KvConnection.open(ports.port);
    open.push(connection);
    return connection;
  };
  return {
    service,
    disk,
    ...ports,
    connect,
    ready: async ({ user = 'admin', features = usualFeatures } = {}) => {
      const connection = await connect();
      if (features.length > 0) await connection.hello(features);
      await connection.plain(user, 'password');
      await connection.select('b');
      return connection;
    },
    [Symbol.asyncDispose]: async () => {
      for (const connection of open) connection.close();
      await service.stop();
    },
  };
}
