// Output of commands: progress, columns, sizes.

/** A character as an escape of JavaScript: control characters could move the cursor or change the terminal. */
export const escapeOf = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;

/** A line that is rewritten on a terminal; without a terminal nothing is written. */
export class ProgressLine {
  private shownMs = 0;
  private isShown = false;

  show(text: string): void {
    if (!process.stderr.isTTY) return;
    const nowMs = performance.now();
    if (nowMs - this.shownMs < 100) return;
    this.shownMs = nowMs;
    this.isShown = true;
    process.stderr.write(`\r${text}\u001b[K`);
  }

  end(): void {
    if (this.isShown) process.stderr.write('\r\u001b[K');
    this.isShown = false;
  }
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

export function sizeText(bytes: number): string {
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(2)} GB`;
}

/** Columns of equal width. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? '' : 's'}`;
