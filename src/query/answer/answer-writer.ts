// Streams one answer: members in the published order, one row per line. It sends nothing before 64 KiB or a wait of ten
// milliseconds after the first row, so that a short answer is sent in one piece and with the status of its first error.
import type { Clock, Timer } from '#ports/clock.ts';
import { PrettyJson } from './pretty-json.ts';

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
const flushDelayMs = 10;
const rowIndent = '        ';

/** Takes the JSON text of one row, in any number of parts. */
export interface RowText {
  text(json: string): void;
}

export class AnswerWriter {
  rows = 0;
  private readonly sink: AnswerSink;
  private readonly timers: Pick<Clock, 'after'>;
  private readonly isPretty: boolean;
  private text = '{\n';
  /** Rows that are not part of `text` yet: their bytes are counted for all of them at once. */
  private newRows = '';
  private countedBytes = 0;
  /** Bytes between and around the rows. */
  private layoutBytes = 0;
  private hasUnsentRows = false;
  private isFirst = true;
  private hasBegun = false;
  private isBufferFull = false;
  private timer: Timer | null = null;
  private readonly plainRow: RowText = { text: (json) => this.addRowText(json) };

  constructor(sink: AnswerSink, timers: Pick<Clock, 'after'>, isPretty: boolean) {
    this.sink = sink;
    this.timers = timers;
    this.isPretty = isPretty;
  }

  /** True once a part of the answer was sent: its status can no longer change. */
  get isSent(): boolean {
    return this.hasBegun;
  }

  /** Bytes of the rows. */
  get bytes(): number {
    this.takeRows();
    return this.countedBytes - this.layoutBytes;
  }

  /** Writes a member of the answer; `json` is its value as JSON text. */
  member(name: string, json: string): void {
    const value = this.isPretty ? new PrettyJson('    ').format(json) : json;
    this.text += `${this.isFirst ? '' : ',\n'}${this.isPretty ? '    ' : ''}"${name}": ${value}`;
    this.isFirst = false;
  }

  beginRows(): void {
    this.text += `${this.isFirst ? '' : ',\n'}${this.isPretty ? '    ' : ''}"results": [`;
    this.isFirst = false;
  }

  row(json: string): void {
    this.beginRow().text(json);
  }

  /** Begins a row whose text comes in parts. */
  beginRow(): RowText {
    const before = `${this.rows === 0 ? '\n' : ',\n'}${this.isPretty ? rowIndent : ''}`;
    this.newRows += before;
    this.layoutBytes += before.length;
    this.rows++;
    if (!this.isPretty) return this.plainRow;
    const pretty = new PrettyJson(rowIndent);
    return { text: (json) => this.addRowText(pretty.format(json)) };
  }

  /** Sends the rows so far after `flushDelayMs`. Call before waiting for more: an answer that is complete at once needs no timer. */
  flushSoon(): void {
    if (this.hasUnsentRows) this.timer ??= this.timers.after(flushDelayMs, () => this.flush());
  }

  endRows(): void {
    this.takeRows();
    this.text += this.isPretty ? '\n    ]' : '\n]';
  }

  /** Whether the client has read enough for more rows. */
  get isReady(): boolean {
    return !this.isBufferFull;
  }

  /** Resolves when the client has read enough for more rows. */
  async ready(): Promise<void> {
    if (this.isReady) return;
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
    this.takeRows();
    this.text = '';
  }

  private addRowText(text: string): void {
    this.newRows += text;
    this.hasUnsentRows = true;
    if (this.text.length + this.newRows.length >= flushCharacters) this.flush();
  }

  private takeRows(): void {
    if (this.newRows === '') return;
    this.countedBytes += Buffer.byteLength(this.newRows);
    this.text += this.newRows;
    this.newRows = '';
  }

  private flush(): void {
    this.timer?.cancel();
    this.timer = null;
    this.hasUnsentRows = false;
    this.takeRows();
    if (this.text === '') return;
    if (!this.hasBegun) this.sink.begin(200);
    this.hasBegun = true;
    this.isBufferFull = !this.sink.write(this.text) || this.isBufferFull;
    this.text = '';
  }
}
