// A text from many short parts. A concatenation keeps all its pieces in memory until one of its characters is read, so every thousand parts are
// joined at once.
import { contiguous } from '../values/json-text.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';

const partMask = 1_023;

export class TextParts {
  #joined = '';
  #recent = '';
  #count = 0;

  get length(): number {
    return this.#joined.length + this.#recent.length;
  }

  add(part: string): void {
    countSteps(writtenSteps);
    this.#recent += part;
    if ((++this.#count & partMask) !== 0) return;
    this.#joined += contiguous(this.#recent);
    this.#recent = '';
  }

  /** Everything that was added. */
  text(): string {
    return this.#joined + this.#recent;
  }
}
