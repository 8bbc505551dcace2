// Compiles index definitions; loads the query language when the first of them needs it.
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import type * as language from './compile-definition.ts';
import { compileFields, hasFieldKeysOnly } from './compile-fields.ts';
import type { CompiledDefinition } from './compiled-definition.ts';

export class DefinitionCompiler {
  private language: typeof language | null = null;
  private loading: Promise<void> = Promise.resolve();

  /** Resolves when `compile` can compile these definitions, in the order of the calls. If the language cannot be loaded, the index thread ends. */
  prepare(definitions: readonly IndexDefinition[]): Promise<void> {
    this.loading = this.loading.then(async () => {
      if (definitions.every(hasFieldKeysOnly)) return;
      this.language ??= await import('./compile-definition.ts');
    });
    return this.loading;
  }

  compile(definition: IndexDefinition): CompiledDefinition {
    if (hasFieldKeysOnly(definition)) return compileFields(definition);
    if (this.language === null) throw new Error('the query language is not loaded: call prepare first');
    return this.language.compileDefinition(definition);
  }
}
