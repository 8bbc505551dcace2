// The link to a configuration in a NATS key-value bucket: one JetStream stream, one subject per key. Each write names the expected
// sequence of its subject; each message has the ids of the key's last writes, which show the outcome when an answer was lost.
import type { NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import {
  type ConfigLink,
  FinalError,
  NotSentError,
  type RecordFeed,
  type StoredRecord,
  type StoreHead,
} from '../mirror/config-link.ts';
import { headerIn } from './feed-messages.ts';
import {
  acknowledgement,
  createStream,
  newestMessage,
  type StoredMessage,
  type StreamState,
  streamState,
} from './jetstream-requests.ts';
import { keyOfSubject, keySubject, streamOf, subjectsOf } from './kv-names.ts';
import { type OpenConnection, openConnection } from './nats-connection.adapter.ts';
import { NatsFeed } from './nats-feed.ts';
import type { NatsFiles } from './nats-files.adapter.ts';
import { type NatsAddress, type NatsServers, parseAddress, showAddress } from './nats-servers.ts';
import { replicasOf, type ServerVersion } from './server-rules.ts';

export interface NatsLinkOptions {
  servers: NatsServers;
  files: NatsFiles;
  bucket: string;
  /** False: the bucket existed before, so that a missing one is an error. */
  mayCreate: boolean;
  /** The first revision of a bucket that is created. */
  firstRevision?: number;
  clock: Clock;
  random: Random;
}

const writesHeader = 'Divan-Writes';
const operationHeader = 'KV-Operation';
const expectedHeader = 'Nats-Expected-Last-Subject-Sequence';
/** Header that names the newest sequence of the whole stream. */
const expectedNewestHeader = 'Nats-Expected-Last-Sequence';
const requestTimeoutMs = 2_500;
const namePrefix = 'Divan configuration ';

export class NatsConfigLink implements ConfigLink {
  readonly name: string;
  /** The ids are stored with the records. */
  readonly writeHistoryId = 'records';
  readonly keepsDeletions = true;
  readonly #options: NatsLinkOptions;
  readonly #stream: string;
  #open: OpenConnection | null = null;
  #opening: Promise<OpenConnection> | null = null;
  #isClosed = false;
  /** Servers of the cluster that the connected server named. */
  #known: NatsAddress[] = [];
  #mayCreate: boolean;
  #replicas = 1;

  constructor(options: NatsLinkOptions) {
    this.#options = options;
    this.#stream = streamOf(options.bucket);
    this.#mayCreate = options.mayCreate;
    this.name = `NATS at ${options.servers.addresses.map(showAddress).join(', ')}`;
  }

  /** The servers seen with the present connection, and the copies that they keep. */
  get servers(): { servers: readonly ServerVersion[]; replicas: number } {
    return { servers: this.#open?.servers ?? [], replicas: this.#replicas };
  }

  async head(): Promise<StoreHead> {
    const { connection, servers } = await this.#connected();
    const state = (await streamState(connection, this.#stream)) ?? (await this.#create(connection, servers));
    if (!state.description.startsWith(namePrefix))
      throw new FinalError(
        `the key-value bucket "${this.#options.bucket}" was not made by Divan; use another --nats-bucket`,
      );
    this.#mayCreate = false;
    this.#replicas = state.replicas;
    const isClustered = servers.some(({ cluster }) => cluster !== undefined);
    if (state.replicas < replicasOf(isClustered))
      throw new FinalError(
        `the key-value bucket "${this.#options.bucket}" has ${state.replicas} copies in a cluster of servers; ` +
          `give it three: nats stream update ${this.#stream} --replicas 3`,
      );
    return { identity: state.description.slice(namePrefix.length), revision: state.revision };
  }

  async follow(feed: RecordFeed): Promise<{ stop(): void }> {
    const { connection, nats } = await this.#connected();
    const following = new NatsFeed({
      connection,
      stream: this.#stream,
      feed,
      clock: this.#options.clock,
      inbox: nats.createInbox(),
      subjects: subjectsOf(this.#options.bucket),
      recordOf: (message) => this.#recordOf(message),
    });
    await following.start();
    return following;
  }

  async read(key: string): Promise<StoredRecord | null> {
    const { connection } = this.#connection();
    const message = await newestMessage(connection, this.#stream, keySubject(this.#options.bucket, key));
    return message === null ? null : this.#recordOf(message);
  }

  write(record: Omit<StoredRecord, 'revision'>, expectedRevision: number): Promise<number | null> {
    return this.#publish(record, expectedHeader, expectedRevision);
  }

  writeLast(record: Omit<StoredRecord, 'revision'>, newest: number): Promise<number | null> {
    return this.#publish(record, expectedNewestHeader, newest);
  }

  async #publish({ key, json, writes }: Omit<StoredRecord, 'revision'>, header: string, expected: number) {
    const { connection, nats } = this.#connection();
    const text = json ?? '';
    // The headers may take the rest.
    const sizeMax = (connection.info?.max_payload ?? 1_048_576) - 4_096;
    const size = Buffer.byteLength(text);
    if (size > sizeMax)
      throw new FinalError(
        `the value of "${key}" has ${size} bytes, and the NATS servers accept at most ${sizeMax} (max_payload)`,
      );
    const headers = nats.headers();
    headers.set(header, String(expected));
    headers.set(writesHeader, (writes ?? []).join(' '));
    if (json === null) headers.set(operationHeader, 'DEL');
    const subject = keySubject(this.#options.bucket, key);
    const reply = await connection.request(subject, text, { headers, timeout: requestTimeoutMs });
    return acknowledgement(Buffer.from(reply.data).toString());
  }

  /** The next connection may be to another server. */
  disconnect(): void {
    this.#open?.connection.close().catch(() => {}); // it is closed already
    this.#open = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const opening = await this.#opening?.catch(() => null);
    await (this.#open ?? opening)?.connection.close();
  }

  #connection(): OpenConnection {
    if (this.#open === null) throw new NotSentError('there is no connection');
    return this.#open;
  }

  #connected(): Promise<OpenConnection> {
    if (this.#open !== null) return Promise.resolve(this.#open);
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #connect(): Promise<OpenConnection> {
    const { servers, files } = this.#options;
    const open = await openConnection(servers, files, this.#known);
    if (this.#isClosed) {
      await open.connection.close();
      throw new NotSentError('it is closed');
    }
    this.#known = (open.connection.info?.connect_urls ?? [])
      .map(parseAddress)
      .filter((address) => address !== null)
      .slice(0, 16);
    this.#open = open;
    void open.connection.closed().then(() => {
      if (this.#open === open) this.#open = null;
    });
    return open;
  }

  async #create(connection: NatsConnection, servers: readonly ServerVersion[]): Promise<StreamState> {
    const { bucket, random, firstRevision } = this.#options;
    if (!this.#mayCreate)
      throw new Error(`its key-value bucket "${bucket}" is missing: put it back from a backup`);
    const replicas = replicasOf(servers.some(({ cluster }) => cluster !== undefined));
    const stream = await createStream(connection, this.#stream, {
      subjects: [subjectsOf(bucket)],
      replicas,
      ...(firstRevision !== undefined && { firstRevision }),
      description: namePrefix + random.uuid(),
    });
    if (stream === null) throw new Error(`another node is creating the key-value bucket "${bucket}"`);
    return stream;
  }

  #recordOf({ subject, revision, headers, text }: StoredMessage): StoredRecord {
    const key = keyOfSubject(this.#options.bucket, subject);
    // Written by another program: it only takes up a revision.
    if (key === null) return { key: `=${subject}`, json: null, revision, writes: null };
    const operation = headers === null ? null : headerIn(headers, operationHeader);
    const ids = headers === null ? null : headerIn(headers, writesHeader);
    const json = operation === null ? checkedJson(key, text) : null;
    return { key, json, revision, writes: ids === null ? null : ids.split(' ') };
  }
}

function checkedJson(key: string, text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new Error(`the entry "${key}" in NATS is damaged: it is not JSON`, { cause: error });
  }
}
