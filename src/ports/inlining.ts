// How far V8 goes in putting functions into those that call them. Its budget for one function is made for large functions; the
// data path has many small ones in many layers, and runs out of it: calls remain that cost more than what is called.
import { setFlagsFromString } from 'node:v8';

let isDone = false;

/** By trial: from here on more wins nothing. V8's own is 920. */
const bytecodeBytesPerFunction = 4000;

/**
 * For the whole process, for code that is optimized from now on. Not to be called while a node starts: under another
 * setting V8 does not use code that Node brings compiled, nor what is in the compile cache.
 */
export function inlineMore(): void {
  if (isDone) return;
  isDone = true;
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${bytecodeBytesPerFunction}`);
}
