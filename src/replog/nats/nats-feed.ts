// Follows a stream through a consumer of its own: checks that no message is missing and that the server still sends heartbeats. Anything
// unexpected ends the feed; the mirrored store then begins again with the whole state.
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import type { Clock, Timer } from '#ports/clock.ts';
import type { RecordFeed, StoredRecord } from '../mirror/config-link.ts';
import { type Delivery, deliveryOf } from './feed-messages.ts';
import { createFeed, type StoredMessage } from './jetstream-requests.ts';

interface NatsFeedOptions {
  connection: NatsConnection;
  stream: string;
  inbox: string;
  subjects: string;
  feed: RecordFeed;
  clock: Clock;
  recordOf(message: StoredMessage): StoredRecord;
}

const heartbeatEveryMs = 2_000;
const silenceMaxMs = 5_000;
/** Status of idle heartbeats and flow control. */
const controlStatus = 100;

export class NatsFeed {
  readonly #options: NatsFeedOptions;
  #subscription: Subscription | null = null;
  #consumer: string | null = null;
  /** Messages received. */
  #count = 0;
  #isComplete = false;
  #isOver = false;
  /** Ends the feed when NATS has sent nothing for `silenceMaxMs`. */
  #silence: Timer | null = null;

  constructor(options: NatsFeedOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { connection, stream, inbox, subjects } = this.#options;
    this.#subscription = connection.subscribe(inbox, {
      callback: (error, message) => (error === null ? this.#receive(message) : this.#end(error.message)),
    });
    void connection.closed().then((reason) => {
      this.#end(`the connection to NATS was lost${reason instanceof Error ? `: ${reason.message}` : ''}`);
    });
    this.#restartSilence();
    try {
      const { name, pending } = await createFeed(connection, stream, { inbox, subjects, heartbeatEveryMs });
      this.#consumer = name;
      if (pending === 0 && this.#count === 0) this.#complete();
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#silence?.cancel();
    const { connection, stream } = this.#options;
    if (connection.isClosed()) return;
    this.#subscription?.unsubscribe();
    if (this.#consumer !== null) connection.publish(`$JS.API.CONSUMER.DELETE.${stream}.${this.#consumer}`);
  }

  #receive(message: Msg): void {
    if (this.#isOver) return;
    this.#restartSilence();
    const { headers } = message;
    if (headers?.code === controlStatus) this.#control(message);
    else if (headers?.code) this.#end(`NATS ended the feed: ${headers.description}`);
    else this.#change(message, deliveryOf(message.reply ?? ''));
  }

  #change(message: Msg, delivery: Delivery | null): void {
    if (delivery?.consumerSeq !== this.#count + 1) {
      this.#end('changes of the feed are missing');
      return;
    }
    this.#count = delivery.consumerSeq;
    try {
      this.#options.feed.changed(this.#options.recordOf(storedMessage(message, delivery.revision)));
      if (delivery.pending === 0) this.#complete();
    } catch (error) {
      this.#end((error as Error).message);
    }
  }

  #control(message: Msg): void {
    if (message.reply) {
      message.respond();
      return;
    }
    const stalled = message.headers?.get('Nats-Consumer-Stalled');
    if (stalled) this.#options.connection.publish(stalled);
    const sent = Number(message.headers?.get('Nats-Last-Consumer') || 0);
    if (sent > this.#count) this.#end('changes of the feed are missing');
  }

  #complete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#options.feed.complete();
  }

  #restartSilence(): void {
    this.#silence?.cancel();
    this.#silence = this.#options.clock.after(silenceMaxMs, () => this.#end('NATS sends no heartbeat'));
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.stop();
    this.#options.feed.lost(reason);
  }
}

function storedMessage(message: Msg, revision: number): StoredMessage {
  const { headers } = message;
  const lines = headers === undefined ? null : headers.keys().map((name) => `${name}: ${headers.get(name)}`);
  return {
    subject: message.subject,
    revision,
    headers: lines === null ? null : lines.join('\r\n'),
    text: Buffer.from(message.data).toString(),
  };
}
