// Checks answers of the cloud by its own OpenAPI document: the operation must declare the status, the
// body must match its schema, and the declared headers must exist.
import assert from 'node:assert/strict';
import type { ApiDocument, ApiOperation, ApiResponse } from '#contract/api-document.ts';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { Answer } from './cloud-process.ts';
import { schemaMismatches } from './json-schema.ts';

export type CloudDocument = ApiDocument & { components: { schemas: Record<string, JsonSchema> } };
type Declared = ApiResponse & { headers?: object };

/** Statuses that every operation may answer. */
const anywhere: readonly number[] = [405, 413];

export class CloudDescription {
  readonly document: CloudDocument;

  constructor(document: CloudDocument) {
    this.document = document;
  }

  /** Throws if the answer differs from the description. Undescribed paths must be refused. */
  check(method: string, path: string, answer: Answer): void {
    const what = `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`;
    const operation = this.operationOf(method, path.split('?')[0] as string);
    const declared: Declared | undefined = operation?.responses[String(answer.status)];
    if (declared === undefined) {
      assert.ok(operation === undefined || anywhere.includes(answer.status), `undeclared status: ${what}`);
      assert.ok(answer.status >= 400, what);
      this.checkErrorBody(what, answer);
      return;
    }
    for (const name of Object.keys(declared.headers ?? {}))
      assert.ok(answer.headers.get(name), `${name} is missing: ${what}`);
    const schema = declared.content?.['application/json']?.schema as JsonSchema | undefined;
    if (schema === undefined) assert.equal(answer.body, undefined, what);
    else assert.deepEqual(schemaMismatches(answer.body, this.resolved(schema)), [], what);
    if (answer.status >= 400) this.checkErrorBody(what, answer);
  }

  private checkErrorBody(what: string, { body }: Answer): void {
    assert.deepEqual(Object.keys(body ?? {}).sort(), ['errorType', 'message'], what);
    // Texts of the schema library, which do not say what would be right.
    assert.doesNotMatch(body.message, /Invalid (input|option|string)|Too (big|small)|Unrecognized/, what);
  }

  private operationOf(method: string, path: string): ApiOperation | undefined {
    const templates = Object.keys(this.document.paths).filter((template) => fits(template, path));
    const exact = templates.find((template) => template === path) ?? templates[0];
    return exact === undefined ? undefined : this.document.paths[exact]?.[method.toLowerCase()];
  }

  /** Resolves references. */
  private resolved(schema: JsonSchema): JsonSchema {
    return JSON.parse(
      JSON.stringify(schema, (_key, value) => {
        const name = (value as { $ref?: string } | null)?.$ref?.split('/').at(-1);
        return name === undefined
          ? value
          : this.resolved(this.document.components.schemas[name] as JsonSchema);
      }),
    ) as JsonSchema;
  }
}

const fits = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
