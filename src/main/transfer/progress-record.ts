// The progress of an import or export, in a file beside the data, from which a later import or export with `--resume` continues.
import { readFileSync, rmSync } from 'node:fs';
import { writePrivate } from '#ports/private-file.ts';
import { CommandError } from '../exit-status.ts';

/** What identifies an import or export: a command with `--resume` continues an earlier one only if all of these values are equal. */
export type TaskIdentity = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export class ProgressRecord<T> {
  readonly path: string;
  private readonly identity: TaskIdentity;

  constructor(path: string, identity: TaskIdentity) {
    this.path = path;
    this.identity = identity;
  }

  /** Null: there is none. @throws CommandError when the record belongs to another task */
  read(): T | null {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch {
      return null;
    }
    const { identity, state } = this.parsed(text);
    const names = Object.keys({ ...identity, ...this.identity });
    const other = names.find(
      (name) => JSON.stringify(identity[name]) !== JSON.stringify(this.identity[name]),
    );
    if (other !== undefined)
      throw new CommandError(
        `--resume: ${this.path} is of another task: its ${other} was ${JSON.stringify(identity[other])}; start without --resume`,
      );
    return state;
  }

  write(state: T): void {
    writePrivate(this.path, JSON.stringify({ identity: this.identity, state }));
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }

  private parsed(text: string): { identity: TaskIdentity; state: T } {
    try {
      const { identity, state } = JSON.parse(text) as { identity?: TaskIdentity; state?: T };
      if (identity !== undefined && state !== undefined) return { identity, state };
    } catch {
      // reported below
    }
    throw new CommandError(`--resume: ${this.path} is damaged; start without --resume`);
  }
}
