// Reads a form's fields by type and collects problems, in the texts that all validated calls share.
import { integerOf } from '#base/decimal.ts';
import { fieldText } from '#contract/field-text.ts';
import type { Form } from '#contract/route.ts';
import { Problems } from './problems.ts';

export class FormReader {
  readonly form: Form;
  readonly problems = new Problems();

  constructor(form: Form) {
    this.form = form;
  }

  text(name: string): string | undefined {
    return this.form[name];
  }

  required(name: string): string {
    const sent = this.form[name];
    if (sent === undefined) this.problems.add(name, fieldText.required);
    return sent ?? '';
  }

  integer(name: string, min: number, max: number): number | undefined {
    const sent = this.form[name];
    if (sent === undefined) return undefined;
    const value = integerOf(sent);
    if (value === null) this.problems.add(name, fieldText.integer);
    else if (value < min || value > max) this.problems.add(name, fieldText.range(min, max));
    return value ?? undefined;
  }

  boolean(name: string): boolean | undefined {
    const value = this.oneOf(name, ['true', 'false']);
    return value === undefined ? undefined : value === 'true';
  }

  oneOf<const T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const sent = this.form[name];
    if (sent === undefined) return undefined;
    const found = allowed.find((word) => word === sent);
    if (found === undefined) this.problems.add(name, fieldText.oneOf(allowed));
    return found;
  }

  /** Refuses unknown names. */
  only(knownNames: readonly string[]): void {
    for (const name of Object.keys(this.form)) {
      if (!knownNames.includes(name)) this.problems.add(name, fieldText.unsupported);
    }
  }

  /** Refuses a form without any field. */
  requireAnyField(): void {
    if (Object.keys(this.form).length === 0) this.problems.add('_', fieldText.noParameters);
  }

  /** Refuses the request if there are problems. */
  refuseIfInvalid(): void {
    this.problems.refuseIfInvalid();
  }
}
