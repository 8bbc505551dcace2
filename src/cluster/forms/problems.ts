import { generalRefusals } from '#contract/general.refusals.ts';

/** All problems of one request by parameter; the first one of each counts. */
export class Problems {
  /** A map, because clients name the parameters: an object has properties that nobody added. */
  readonly #texts = new Map<string, string>();

  get fields(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#texts);
  }

  add(key: string, text: string): void {
    if (!this.#texts.has(key)) this.#texts.set(key, text);
  }

  addAll(fields: Readonly<Record<string, string>>): void {
    for (const [key, text] of Object.entries(fields)) this.add(key, text);
  }

  get any(): boolean {
    return this.#texts.size > 0;
  }

  /** Refuses the request if there are problems. */
  refuseIfInvalid(): void {
    if (this.any) throw generalRefusals.invalidFields(this.fields);
  }
}
