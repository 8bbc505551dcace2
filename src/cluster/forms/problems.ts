import { generalRefusals } from '#contract/general.refusals.ts';

/** All problems of one request by parameter; the first one of each counts. */
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

  /** Refuses the request if there are problems. */
  refuseIfInvalid(): void {
    if (this.any) throw generalRefusals.invalidFields(this.fields);
  }
}
