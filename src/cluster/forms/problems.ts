import { refuse } from '#contract/errors.ts';

/** All that is wrong with one request, by parameter; the first complaint about each counts. */
export class Problems {
  readonly fields: Record<string, string> = {};

  add(key: string, text: string): void {
    this.fields[key] ??= text;
  }

  addAll(fields: Readonly<Record<string, string>>): void {
    for (const [key, text] of Object.entries(fields)) this.add(key, text);
  }

  get any(): boolean {
    return Object.keys(this.fields).length > 0;
  }

  /** Refuses the request if anything is wrong with it. */
  settle(): void {
    if (this.any) throw refuse.fields(this.fields);
  }
}
