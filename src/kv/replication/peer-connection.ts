// One connection to another node: what is sent in one turn is one write, and the bytes that the other node has not applied are counted.
import { earlierForm } from './earlier-frames.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { FrameSplitter } from './frame-splitter.ts';
import { FrameWriter } from './frame-writer.ts';
import type { CopyBatch, PeerMessage } from './frames.ts';
import type { Link } from './link.ts';

/** The limit of bytes sent to one node and not yet applied there. */
const inFlightMax = 16 * 1024 * 1024;
/** What is sent in one turn is one write, or several of about this size. */
const writeBytes = 64 * 1024;

export class PeerConnection {
  readonly link: Link;
  readonly incoming = new FrameSplitter();
  readonly decoder = new FrameDecoder();
  readonly outgoing = new FrameWriter();
  boot: string | null = null;
  /** Whether messages are sent in the form of version 0.2: until the other node's hello says that it reads the present form of frames. */
  isEarlier = true;
  /** What the hello of the other node says about its version; the meanings are in `PeerHello`. */
  saysPromise = false;
  saysContinued = false;
  rollsBack = false;
  /** Bytes have arrived since this node's last heartbeat. */
  hasHeard = true;
  /** After how many heartbeats of this node nothing had arrived since the one before. */
  silentBeats = 0;
  private isWriteDue = false;
  private inFlight = 0;

  constructor(link: Link) {
    this.link = link;
  }

  /** Whether the other node takes more batches at present. */
  get hasRoom(): boolean {
    return this.inFlight < inFlightMax;
  }

  send(message: PeerMessage, body?: Uint8Array): void {
    const { isEarlier, outgoing } = this;
    const bytes = isEarlier
      ? outgoing.addEncoded(earlierForm.encode(message, body))
      : outgoing.add(message, body);
    if (message.kind === 'batch') this.inFlight += bytes;
    this.writeSoon();
  }

  /** Sends a batch with the memory of its body, instead of a copy. Calls `sent` when that memory is no longer needed. */
  sendPage(batch: CopyBatch, body: Uint8Array, sent: () => void): void {
    if (this.isEarlier) {
      this.send(batch, body);
      sent();
      return;
    }
    this.inFlight += this.outgoing.addHead(batch, body.length) + body.length;
    this.write();
    this.link.send(body, sent);
  }

  /** A batch of this size was written to `outgoing`. */
  batchWritten(bytes: number): void {
    this.inFlight += bytes;
    this.writeSoon();
  }

  /** The other node applied this many bytes of batches. */
  release(bytes: number): void {
    this.inFlight = Math.max(0, this.inFlight - bytes);
  }

  write(): void {
    const { link, outgoing } = this;
    this.isWriteDue = false;
    if (outgoing.bytes === 0) return;
    const frames = outgoing.drain();
    link.send(frames, () => outgoing.sent(frames));
  }

  private writeSoon(): void {
    if (this.outgoing.bytes >= writeBytes) this.write();
    else if (!this.isWriteDue) {
      this.isWriteDue = true;
      // After the event that is being handled, with all that it causes.
      void Promise.resolve().then(() => this.write());
    }
  }
}
