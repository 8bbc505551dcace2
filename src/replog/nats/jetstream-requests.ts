// The few requests to JetStream that the store needs, in the published form. They do not use the client's helpers, which repeat and
// rewrite requests: what an answer proves depends on exactly which headers and expected revision were sent.
import type { NatsConnection } from '@nats-io/transport-node';
import { FinalError } from '../mirror/config-link.ts';

const requestTimeoutMs = 2_500;
/** Error codes of a wrong expected sequence. */
const refusedWrites = new Set([10_071, 10_164]);
/** Error codes of a message that is too large, or of a server without space: the same request will not succeed. */
const finalCodes = new Set([10_047, 10_054, 10_077]);
const streamMissing = 10_059;
const messageMissing = 10_037;
const nameTaken = 10_058;

export interface StreamState {
  readonly description: string;
  readonly revision: number;
  readonly replicas: number;
}

export interface StoredMessage {
  readonly subject: string;
  readonly revision: number;
  /** The text of all headers, as on the wire; null without any. */
  readonly headers: string | null;
  readonly text: string;
}

interface ApiError {
  code: number;
  err_code?: number;
  description?: string;
}

interface StreamAnswer {
  config: { description?: string; num_replicas: number };
  state: { last_seq: number };
}

/** Null when there is no such stream. */
export async function streamState(connection: NatsConnection, stream: string): Promise<StreamState | null> {
  const answer = await request<StreamAnswer>(connection, `STREAM.INFO.${stream}`, {}, streamMissing);
  return answer === null ? null : stateOf(answer);
}

/** Null when another stream already has the name. */
export async function createStream(
  connection: NatsConnection,
  stream: string,
  config: { subjects: string[]; description: string; replicas: number; firstRevision?: number },
): Promise<StreamState | null> {
  const { replicas, firstRevision, ...rest } = config;
  const streamConfig = {
    name: stream,
    ...rest,
    ...(firstRevision !== undefined && { first_seq: firstRevision }),
    retention: 'limits',
    storage: 'file',
    discard: 'new',
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    max_consumers: -1,
    max_msgs: -1,
    max_bytes: -1,
    max_age: 0,
    max_msg_size: -1,
    deny_delete: true,
    allow_rollup_hdrs: true,
    allow_direct: true,
  };
  const answer = await request<StreamAnswer>(connection, `STREAM.CREATE.${stream}`, streamConfig, nameTaken);
  return answer === null ? null : stateOf(answer);
}

const stateOf = ({ config, state }: StreamAnswer): StreamState => ({
  description: config.description ?? '',
  revision: state.last_seq,
  replicas: config.num_replicas,
});

/** The newest message of a subject as the stream's leader has it; null without any. */
export async function newestMessage(
  connection: NatsConnection,
  stream: string,
  subject: string,
): Promise<StoredMessage | null> {
  const query = { last_by_subj: subject };
  const answer = await request<{ message: { subject: string; seq: number; hdrs?: string; data?: string } }>(
    connection,
    `STREAM.MSG.GET.${stream}`,
    query,
    messageMissing,
  );
  if (answer === null) return null;
  const { seq, hdrs, data } = answer.message;
  return {
    subject: answer.message.subject,
    revision: seq,
    headers: hdrs === undefined ? null : Buffer.from(hdrs, 'base64').toString(),
    text: Buffer.from(data ?? '', 'base64').toString(),
  };
}

/** A consumer that sends the newest message of each subject, then all new ones. */
export async function createFeed(
  connection: NatsConnection,
  stream: string,
  { inbox, subjects, heartbeatEveryMs }: { inbox: string; subjects: string; heartbeatEveryMs: number },
): Promise<{ name: string; pending: number }> {
  // JetStream's durations are in nanoseconds.
  const seconds = 1_000_000_000;
  const config = {
    deliver_subject: inbox,
    deliver_policy: 'last_per_subject',
    ack_policy: 'none',
    replay_policy: 'instant',
    num_replicas: 1,
    mem_storage: true,
    inactive_threshold: 30 * seconds,
    flow_control: true,
    filter_subject: subjects,
    idle_heartbeat: heartbeatEveryMs * 1_000_000,
  };
  const body = { stream_name: stream, config };
  const answer = await request<{ name: string; num_pending: number }>(
    connection,
    `CONSUMER.CREATE.${stream}`,
    body,
  );
  return { name: answer.name, pending: answer.num_pending };
}

/** Null when the server refuses the expected sequence. Any failure but a FinalError leaves the outcome open. */
export function acknowledgement(text: string): number | null {
  const answer = JSON.parse(text) as { seq?: number; error?: ApiError };
  if (answer.error === undefined && answer.seq !== undefined) return answer.seq;
  if (refusedWrites.has(answer.error?.err_code ?? 0)) return null;
  throw failure(answer.error);
}

async function request<T>(connection: NatsConnection, subject: string, body: object): Promise<T>;
async function request<T>(
  connection: NatsConnection,
  subject: string,
  body: object,
  nullCode: number,
): Promise<T | null>;
async function request<T>(
  connection: NatsConnection,
  subject: string,
  body: object,
  nullCode?: number,
): Promise<T | null> {
  const { data } = await connection.request(`$JS.API.${subject}`, JSON.stringify(body), {
    timeout: requestTimeoutMs,
  });
  const answer = JSON.parse(Buffer.from(data).toString()) as T & { error?: ApiError };
  if (answer.error === undefined) return answer;
  if (answer.error.err_code === nullCode) return null;
  throw failure(answer.error);
}

function failure(
  { err_code = 0, description = 'an answer without a reason' }: ApiError = { code: 0 },
): Error {
  const text = `NATS answers: ${description}`;
  return finalCodes.has(err_code) ? new FinalError(text) : new Error(text);
}
