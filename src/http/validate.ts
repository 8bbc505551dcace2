// Schema issues as the fields and texts that clients know. All wrong fields are named at once, the first issue of each.
import type { z } from 'zod';
import { refuse } from '#contract/errors.ts';
import { fieldText } from '#contract/field-text.ts';

export function validate(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw refuse.fields(issueFields(result.error.issues));
}

function issueFields(issues: readonly z.core.$ZodIssue[]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) fields[key] ??= fieldText.unsupported;
    } else if (issue.path.length === 0) fields['_'] ??= fieldText.unexpectedJson;
    else fields[issue.path.join('.')] ??= issue.message;
  }
  return fields;
}
