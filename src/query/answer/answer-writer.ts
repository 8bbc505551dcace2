// Streams one answer: members in the published order, one row per line. It sends nothing before 64 KiB or ten
// milliseconds after the first row, so that a short answer is sent in one piece and with the status of its first error.
import type { Clock, Timer } from '#ports/clock.ts';
import { prettyJson } from './pretty-json.ts';

/** The response that an answer is written to. */
export interface AnswerSink {
  /** Called once, before the first bytes. */
  begin(status: number): void;
  /** Returns false when the buffer is full: wait for `drained`. */
  write(text: string): boolean;
  /** Resolves when the buffer has space, or the connection is closed. */
  drained(): Promise<void>;
  end(text: string): void;
}

const flushCharacters = 64 * 1024;
const flushMs = 10;
const rowIndent = '        ';

export class AnswerWriter {
  rows = 0;
  /** Bytes of the rows. */
  bytes = 0;
  private readonly sink: AnswerSink;
  private readonly timers: Pick<Clock, 'after'>;
  private readonly isPretty: boolean;
  private text = '{\n';
  private isFirst = true;
  private hasBegun = false;
  private isBufferFull = false;
  private timer: Timer | null = null;

  constructor(sink: AnswerSink, timers: Pick<Clock, 'after'>, isPretty: boolean) {
    this.sink = sink;
    this.timers = timers;
    this.isPretty = isPretty;
  }

  /** True once a part of the answer was sent: its status can no longer change. */
  get isSent(): boolean {
    return this.hasBegun;
  }

  /** Writes a member of the answer; `json` is its value as JSON text. */
  member(name: string, json: string): void {
    const value = this.isPretty ? prettyJson(json, '    ') : json;
    this.text += `${this.isFirst ? '' : ',\n'}${this.isPretty ? '    ' : ''}"${name}": ${value}`;
    this.isFirst = false;
  }

  beginRows(): void {
    this.text += `${this.isFirst ? '' : ',\n'}${this.isPretty ? '    ' : ''}"results": [`;
    this.isFirst = false;
  }

  row(json: string): void {
    const row = this.isPretty ? prettyJson(json, rowIndent) : json;
    this.text += `${this.rows === 0 ? '\n' : ',\n'}${this.isPretty ? rowIndent : ''}${row}`;
    this.rows++;
    this.bytes += Buffer.byteLength(row);
    if (this.text.length >= flushCharacters) this.flush();
    else this.timer ??= this.timers.after(flushMs, () => this.flush());
  }

  endRows(): void {
    this.text += this.isPretty ? '\n    ]' : '\n]';
  }

  /** Resolves when the client has read enough for more rows. */
  async ready(): Promise<void> {
    if (!this.isBufferFull) return;
    await this.sink.drained();
    this.isBufferFull = false;
  }

  end(status: number): void {
    this.timer?.cancel();
    if (!this.hasBegun) this.sink.begin(status);
    this.hasBegun = true;
    this.sink.end(`${this.text}\n}\n`);
    this.text = '';
  }

  /** Discards everything that was not sent. */
  abandon(): void {
    this.timer?.cancel();
    this.text = '';
  }

  private flush(): void {
    this.timer?.cancel();
    this.timer = null;
    if (this.text === '') return;
    if (!this.hasBegun) this.sink.begin(200);
    this.hasBegun = true;
    this.isBufferFull = !this.sink.write(this.text) || this.isBufferFull;
    this.text = '';
  }
}
