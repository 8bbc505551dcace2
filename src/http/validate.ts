// Validates against a schema. The refusal names every wrong field at once, each with the text of its first issue.
import { fieldText } from '#contract/field-text.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import type { Issue, Schema } from '#contract/schema.ts';

export async function validate(schema: Schema, value: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return result.value;
  throw generalRefusals.invalidFields(issueFields(result.issues));
}

function issueFields(issues: readonly Issue[]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const issue of issues) {
    if ('keys' in issue && Array.isArray(issue.keys)) {
      // Zod reports all unknown keys of an object in one issue.
      for (const key of issue.keys) fields[String(key)] ??= fieldText.unsupported;
    } else if (!issue.path?.length) fields['_'] ??= fieldText.unexpectedJson;
    else fields[issue.path.map(pathStep).join('.')] ??= issue.message;
  }
  return fields;
}

const pathStep = (step: NonNullable<Issue['path']>[number]) =>
  String(typeof step === 'object' ? step.key : step);
