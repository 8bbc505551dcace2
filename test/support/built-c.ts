// Builds the programs and libraries in C of this folder. Needs a C compiler.
import { execFileSync } from 'node:child_process';

/** Compiles `source` to the file `output`, and returns its path. */
export function builtC(source: string, output: string, flags: readonly string[] = []): string {
  const path = new URL(source, import.meta.url).pathname;
  execFileSync('cc', [...flags, '-O1', '-o', output, path, '-ldl'], { stdio: 'pipe' });
  return output;
}
