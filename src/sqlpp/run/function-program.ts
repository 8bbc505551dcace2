// A user-defined SQL++ function as a statement runs it.
import type { InlineFunction } from '../plan/resolving.ts';
import type { Code } from './code.ts';

export interface FunctionProgram {
  readonly inline: InlineFunction;
  readonly code: Code;
}
